"""What was asked for and is not yet done, one file a run: a studio that starts again finds all of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from physplan.files import write_json
from physplan.foreign import read_file
from physplan_studio.photo import PRESET
from physplan_studio.spec import Spec

State = Literal["waiting", "running", "stopped", "failed", "done"]
MAX_JOB_BYTES = 10_000_000
INTERRUPTED = "The studio ended while this was under way. What is done is kept: go on when you like."


@dataclass(frozen=True, kw_only=True)
class Job:
    run: str
    spec: Spec
    place: float  # its order in the queue
    state: State = "waiting"
    error: str = ""
    reuse: str = ""  # a run whose plan and keyframes serve here as well
    asked: float = 0.0  # when, of what came over /v1/videos
    key: str = ""  # the client's own name of its request: asked again, it is the same job

    @property
    def lane(self) -> str:
        """What takes seconds does not wait for what takes minutes."""
        return "slow" if self.spec.upto == "video" and self.spec.preset != PRESET else "quick"


class JobFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, job: Job) -> None:
        write_json(self._path(job.run), asdict(job))

    def remove(self, run: str) -> None:
        self._path(run).unlink(missing_ok=True)

    def load(self) -> list[Job]:
        """What was under way when the studio ended is stopped; what waited waits."""
        found = []
        for path in sorted(self._folder.glob("*.json")) if self._folder.is_dir() else ():
            try:
                job = _from_json(json.loads(read_file(path, limit=MAX_JOB_BYTES, links=False)))
            except Exception:  # not a job of ours, or one of a later version
                continue
            if job.state == "running":
                job = replace(job, state="stopped", error=INTERRUPTED)
                self.save(job)
            found.append(job)
        return sorted(found, key=lambda one: one.place)

    def _path(self, run: str) -> Path:
        name = hashlib.sha256(run.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._folder / f"{name}.json"


def _from_json(value: dict[str, Any]) -> Job:
    if value["state"] not in get_args(State):
        raise ValueError("no state of a job")
    return Job(
        run=str(value["run"]),
        spec=Spec.from_json(value["spec"]),
        place=float(value["place"]),
        state=value["state"],
        error=str(value["error"]),
        reuse=str(value["reuse"]),
        asked=float(value.get("asked", 0.0)),
        key=str(value.get("key", "")),
    )
