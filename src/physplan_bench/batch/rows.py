"""The file of a batch: one row per video, CSV or JSON lines. What is wrong is said with its line."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from physplan.errors import PhysPlanError
from physplan.foreign import read_file
from physplan.graph.errors import GraphError
from physplan.registry import did_you_mean

T = TypeVar("T")
COLUMNS = ("image", "prompt", "seed", "method", "attempts", "plan", "name", "settings")
MAX_FILE = 100_000_000  # bytes
MOST_FAULTS = 12  # more than this says no more


@dataclass(frozen=True, kw_only=True)
class Row:
    """One video. Paths are relative to the file; `settings` are fields of a preset by their dotted names."""

    line: int
    image: Path
    prompt: str | None = None
    seed: int = 0
    method: str = ""  # the preset's
    attempts: int = 1
    plan: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    given_name: str = ""

    @property
    def name(self) -> str:
        """As given, or from what tells rows apart; never the line, so that a row may move in its file."""
        if self.given_name:
            return self.given_name
        words = re.sub(r"[^a-z0-9]+", "-", (self.prompt or "").lower()).strip("-")[:40].rstrip("-")
        parts: list[Any] = [self.prompt, str(self.image), str(self.plan), self.settings]
        parts += [] if self.attempts == 1 else [self.attempts]
        rest = json.dumps(parts, sort_keys=True)
        mark = hashlib.sha256(rest.encode()).hexdigest()[:6]
        return "-".join(filter(None, (self.image.stem[:24], words, self.method, str(self.seed), mark)))

    @property
    def label(self) -> str:
        """For a table: the name, or the row's line and picture."""
        return self.given_name or f"{self.line} {self.image.stem[:24]}"


def read_rows(path: Path, make: Callable[[Row], T]) -> list[T]:
    """What `make` makes of each row. Where any line is bad, one error with a sentence for each of them."""
    made: list[T] = []
    faults: list[str] = []
    lines: dict[str, int] = {}
    for line, entry in _entries(path):
        try:
            row = _row(line, entry, path.parent)
            _refuse_twin(row, lines)
            made.append(make(row))
        except (PhysPlanError, GraphError) as error:
            faults.append(f"{path}, line {line}: {error}")
    if faults:
        more = len(faults) - MOST_FAULTS
        shown = faults[:MOST_FAULTS] + ([f"And {more} more bad lines."] if more > 0 else [])
        raise PhysPlanError("\n".join(shown))
    if not made:
        raise PhysPlanError(f"{path} holds no row: give one line per video, with image and prompt.")
    return made


def _entries(path: Path) -> Iterator[tuple[int, Any]]:
    """The lines as they are written, with their numbers."""
    readers = {".csv": _read_csv, ".jsonl": _read_json_lines, ".ndjson": _read_json_lines}
    if path.suffix.lower() not in readers:
        raise PhysPlanError(f"{path} is neither CSV nor JSON lines: name it .csv or .jsonl.")
    try:
        text = read_file(path, limit=MAX_FILE).decode("utf-8-sig")
    except OSError as error:
        raise PhysPlanError(f"{path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise PhysPlanError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8.") from error
    return readers[path.suffix.lower()](text)


def _read_csv(text: str) -> Iterator[tuple[int, Any]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = [name.strip() for name in next(reader, [])]
        begins = reader.line_num + 1
        for cells in reader:
            line, begins = begins, reader.line_num + 1
            if any(cell.strip() for cell in cells):
                filled = {name: cell for name, cell in zip(head, cells, strict=False) if cell.strip()}
                yield line, _Cells(filled, extra=len(cells) > len(head), names=tuple(head))
    except csv.Error as error:
        yield reader.line_num, PhysPlanError(f"this is not CSV ({error}).")


def _read_json_lines(text: str) -> Iterator[tuple[int, Any]]:
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            try:
                yield line, json.loads(content)
            except (ValueError, RecursionError) as error:
                yield line, PhysPlanError(f"this is not JSON ({error}).")


@dataclass(frozen=True)
class _Cells:
    """A line of CSV: text only, where an empty cell is none."""

    cells: Mapping[str, str]
    extra: bool
    names: tuple[str, ...]


def _row(line: int, entry: Any, folder: Path) -> Row:
    if isinstance(entry, PhysPlanError):
        raise entry
    if isinstance(entry, _Cells):
        if entry.extra:
            raise PhysPlanError(
                f"there are more cells than the {len(entry.names)} columns; put text with commas in quotes."
            )
        given: dict[str, Any] = dict(entry.cells)
        names: Sequence[str] = entry.names
    elif isinstance(entry, dict):
        given, names = dict(entry), tuple(entry)
    else:
        raise PhysPlanError('this is no object, such as {"image": "ice.png", "prompt": "the ice melts"}.')
    for name in names:
        if name not in COLUMNS and "." not in name:
            raise PhysPlanError(
                f"there is no column {name!r}. {did_you_mean(name, COLUMNS)} Settings are columns with a dot "
                "in their names, such as video.fps."
            )
    if not given.get("image"):
        raise PhysPlanError("the image is missing.")
    if not given.get("prompt") and not given.get("plan"):
        raise PhysPlanError("the prompt is missing: say in a sentence what happens, or give a plan.")
    plan = _text(given, "plan")
    return Row(
        line=line,
        image=folder / str(_text(given, "image")),
        prompt=_text(given, "prompt"),
        seed=_number(given.get("seed", 0), "the seed is"),
        attempts=_number(given.get("attempts", 1), "attempts are"),
        method=_text(given, "method") or "",
        plan=folder / plan if plan else None,
        settings=_settings(given, typed=isinstance(entry, dict)),
        given_name=_name(_text(given, "name") or ""),
    )


def _text(given: Mapping[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise PhysPlanError(f"{name} is {reprlib.repr(value)}, but must be text.")
    if value and "\0" in value:
        raise PhysPlanError(f"{name} holds a NUL character: remove it.")
    return value


def _number(value: Any, words: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,19}\s*", value):
        return int(value)
    raise PhysPlanError(f"{words} {reprlib.repr(value)}, but must be a whole number from 0 on.")


def _name(name: str) -> str:
    if name and not re.fullmatch(r"[\w][\w .+-]{0,99}", name):
        raise PhysPlanError(
            f"the name {name!r} is no file name: use letters, digits, spaces and . _ + -, at most 100."
        )
    return name


def _settings(given: Mapping[str, Any], *, typed: bool) -> dict[str, Any]:
    """`settings` of a JSON line, and all columns with a dot in their names."""
    from physplan.pipeline.config_loading import read_assignments

    found = given.get("settings", {})
    if isinstance(found, str):
        found = read_assignments([part.strip() for part in found.split(";") if part.strip()])
    if not isinstance(found, dict):
        raise PhysPlanError(f'settings are {found!r}, but must be like {{"video.fps": 16}}.')
    dotted = {name: value for name, value in given.items() if "." in name}
    if not typed:
        dotted = read_assignments([f"{name}={value}" for name, value in dotted.items()])
    return {**found, **dotted}


def _refuse_twin(row: Row, lines: dict[str, int]) -> None:
    """Two rows with one name would be one video. `lines` is added to."""
    first = lines.setdefault(row.name.lower(), row.line)  # as file systems see it that ignore case
    if first != row.line:
        what = f"has the name {row.name!r} of" if row.given_name else "asks for the same video as"
        raise PhysPlanError(f"it {what} line {first}.")
