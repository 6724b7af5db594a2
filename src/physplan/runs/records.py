"""The small files of a run as typed values. A folder is untrusted input: every field is checked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.foreign import inside, read_file
from physplan.graph.errors import GraphError, ParseError
from physplan.graph.json_values import Limits, read_as, read_object
from physplan.graph.parsing import parse_json
from physplan.methods.records import recorded_method

LIMITS = Limits(max_bytes=100_000_000, max_depth=40, max_entries=10_000_000)
_MANY = 100_000  # entries of a list, more than any run has


@contextmanager
def read_from(path: Path) -> Iterator[None]:
    """One sentence for whatever is wrong with a file: which, what, and what to do."""
    try:
        yield
    except FileNotFoundError:
        raise PhysPlanError(f"There is no {path}: run it again to make it anew.") from None
    except (GraphError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise PhysPlanError(
            f"{path} cannot be used ({reason}): delete it and run it again to make it anew."
        ) from None


def load_json(folder: Path, name: str) -> Any:
    """Strict JSON of a file of the run."""
    return parse_json(read_file(inside(folder, name), limit=LIMITS.max_bytes, links=False), LIMITS)


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a run was given."""

    prompt: str
    method: str
    seed: int
    plan: str | None = None  # the hash of a plan that was given
    keyframes: str | None = None  # the hash of keyframes that were given
    attempts: int = 1  # at most so many seeds


@dataclass(frozen=True, kw_only=True)
class RunRecord(Given):
    """run.json: what was given, every setting that decides a file, and what it was made with."""

    identity: Mapping[str, Any]
    versions: Mapping[str, str]

    @classmethod
    def from_json(cls, value: object) -> RunRecord:
        parts = read_as(_RunFile, value, "$")
        if "physplan" not in parts.versions:
            raise ParseError("$.versions", "lacks the field 'physplan'")
        assert isinstance(value, dict)
        identity = value["identity"]  # as it is: in the settings of a run, null is a value
        method = recorded_method(parts.inputs.method, identity)
        return cls(**asdict(replace(parts.inputs, method=method)), identity=identity, versions=parts.versions)


@dataclass(frozen=True, kw_only=True)
class _RunFile:
    inputs: Given
    identity: Mapping[str, Any]
    versions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class KeyframeRecord:
    """An entry of keyframes.json. Events count from 1."""

    event: int
    instruction: str
    attempts: int
    drift: float  # the share of what no edit names that changed
    problems: tuple[str, ...]

    @classmethod
    def from_json(cls, value: object, at: str, event: int) -> KeyframeRecord:
        found: KeyframeRecord = read_as(cls, value, at, most=_MANY)
        if found.event != event:
            raise ParseError(f"{at}.event", f"must be {event}, not {found.event}")
        return found


@dataclass(frozen=True, kw_only=True)
class Changed:
    """What an attempt does in another way than the best one before it, and why."""

    kind: str
    what: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """An entry of attempts.json: what its video was found to be, and whether it is the run's."""

    seed: int
    name: str  # of its folder
    verdict: str
    score: float | None  # None: not checked
    seconds: float
    chosen: bool
    preference: float | None = None  # of best_of_n by surprise or by a judge; else the score decides
    changed: tuple[Changed, ...] = ()

    @classmethod
    def from_json(cls, value: object, at: str) -> Attempt:
        fields = read_object(value, at)
        found: Attempt = read_as(cls, {"name": f"seed{fields.get('seed')}", **fields}, at)
        if not re.fullmatch("(seed|change)[0-9]{1,20}", found.name):
            raise ParseError(f"{at}.name", "is no name of an attempt")
        if len(found.verdict) > 80 or len(found.changed) > 20:
            raise ParseError(at, "is longer than any attempt is")
        return found


@dataclass(frozen=True, kw_only=True)
class StageRecord:
    """What is done: written after the stage's own files.

    `files` maps each file of the stage, relative to the run's folder, to the hash of its content.
    """

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
    def load(cls, folder: Path, name: str) -> StageRecord | None:
        """None where there is no record, or none that can be used: the stage is then done again."""
        try:
            return cls.from_json(load_json(folder, name), folder)
        except (OSError, ValueError, PhysPlanError):
            return None

    @classmethod
    def from_json(cls, value: object, folder: Path) -> StageRecord:
        found: StageRecord = read_as(cls, value, "$", most=_MANY)
        for name in found.files:
            inside(folder, name)
        return found

    def changed(self, folder: Path) -> list[str]:
        """Its files that are missing or no longer what they were."""
        return [name for name, known in self.files.items() if file_digest(folder / name) != known]


@dataclass(frozen=True, kw_only=True)
class _Term:
    event: int
    term: str
    objects: tuple[str, ...]
    value: float | None = None
    skipped: str = ""


@dataclass(frozen=True, kw_only=True)
class _Step:
    step: int
    stage: str
    terms: tuple[_Term, ...]


@dataclass(frozen=True, kw_only=True)
class _Losses:
    ended: str
    steps: tuple[_Step, ...]


def check_losses(value: object) -> dict[str, Any]:
    """losses.json as `physplan.guidance.records` writes it."""
    read_as(_Losses, value, "$", most=_MANY)
    return read_object(value, "$")


def file_digest(path: Path) -> str | None:
    """The hash of a regular file's content; None where there is none."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def notes_of(records: Iterable[StageRecord]) -> tuple[str, ...]:
    """Of all stages; that an object is not found in a keyframe is said once."""
    said, kept = set[tuple[str, str]](), list[str]()
    for note in (note for record in records for note in record.notes):
        lost = re.findall(r"[\w-]+#\d+", note) if re.search("not (found|seen)", note) else ()
        keyframe = re.search(r"[Kk]eyframe (\d+)", note)
        facts = {(keyframe[1], id) for id in lost} if keyframe and lost else {("", note)}
        kept += [note] if facts - said else []
        said |= facts
    return tuple(kept)
