"""What is done: one small file per finished stage, written after the stage's own files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from physplan.files import write_json


@dataclass(frozen=True, kw_only=True)
class StageRecord:
    """`files` maps each file of the stage, relative to the run's folder, to the hash of its content."""

    stage: str
    key: str
    files: Mapping[str, str]
    seconds: float
    finished: str  # date and time
    made_from: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what a reader of the report should know
    peak_memory_bytes: int | None = None  # `physplan.runs.memory`

    def save(self, path: Path) -> None:
        write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> StageRecord | None:
        """None where there is no record, or none that can be read: the stage is then done again."""
        try:
            value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{**value, "notes": tuple(value["notes"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def changed(self, folder: Path) -> list[str]:
        """Its files that are missing or no longer what they were."""
        return [name for name, known in self.files.items() if file_digest(folder / name) != known]


def file_digest(path: Path) -> str | None:
    """The hash of a file's content; None where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
