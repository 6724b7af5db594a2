"""The small files of a run as typed values. A folder is untrusted input: every field is checked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.foreign import inside, read_file
from physplan.graph.errors import GraphError, ParseError
from physplan.graph.json_values import Limits, read_integer, read_list, read_number, read_object, read_string
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
class RunRecord:
    """run.json: what was given, every setting that decides a file, and what it was made with."""

    prompt: str
    method: str
    seed: int
    plan: str | None  # the hash of a plan that was given
    keyframes: str | None  # the hash of keyframes that were given
    attempts: int  # at most so many seeds
    identity: Mapping[str, Any]
    versions: Mapping[str, str]

    @classmethod
    def from_json(cls, value: object) -> RunRecord:
        fields = _fields(value, "$", "inputs", "identity", "versions")
        given = _fields(fields["inputs"], "$.inputs", "prompt", "method", "seed")
        _fields(fields["versions"], "$.versions", "physplan")
        identity = _object(fields["identity"], "$.identity")
        return cls(
            prompt=read_string(given["prompt"], "$.inputs.prompt"),
            method=recorded_method(read_string(given["method"], "$.inputs.method"), identity),
            seed=read_integer(given["seed"], "$.inputs.seed"),
            plan=read_string(given["plan"], "$.inputs.plan") if "plan" in given else None,
            keyframes=read_string(given["keyframes"], "$.inputs.keyframes") if "keyframes" in given else None,
            attempts=read_integer(given.get("attempts", 1), "$.inputs.attempts"),
            identity=identity,
            versions=_texts_by_name(fields["versions"], "$.versions"),
        )


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
        fields = _fields(value, at, "event", "instruction", "attempts", "drift", "problems")
        found = read_integer(fields["event"], f"{at}.event")
        if found != event:
            raise ParseError(f"{at}.event", f"must be {event}, not {found}")
        return cls(
            event=event,
            instruction=read_string(fields["instruction"], f"{at}.instruction"),
            attempts=read_integer(fields["attempts"], f"{at}.attempts"),
            drift=read_number(fields["drift"], f"{at}.drift"),
            problems=_texts(fields["problems"], f"{at}.problems"),
        )


@dataclass(frozen=True, kw_only=True)
class Changed:
    """What an attempt does in another way than the best one before it, and why."""

    kind: str
    what: str
    why: str

    @classmethod
    def from_json(cls, value: object, at: str) -> Changed:
        fields = _fields(value, at, "kind", "what", "why")
        return cls(**{name: read_string(fields[name], f"{at}.{name}") for name in ("kind", "what", "why")})


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
        fields = _fields(value, at, "seed", "verdict", "seconds", "chosen")
        seed, changed = read_integer(fields["seed"], f"{at}.seed"), fields.get("changed", [])
        if not re.fullmatch("(seed|change)[0-9]{1,20}", name := str(fields.get("name", f"seed{seed}"))):
            raise ParseError(f"{at}.name", "is no name of an attempt")
        return cls(
            seed=seed,
            name=name,
            verdict=read_string(fields["verdict"], f"{at}.verdict", 80),
            score=read_number(fields["score"], f"{at}.score") if "score" in fields else None,
            seconds=read_number(fields["seconds"], f"{at}.seconds"),
            chosen=fields["chosen"] is True,
            preference=read_number(fields["preference"], f"{at}.preference")
            if fields.get("preference") is not None
            else None,
            changed=tuple(
                Changed.from_json(one, f"{at}.changed[{i}]")
                for i, one in enumerate(read_list(changed, f"{at}.changed", 20))
            ),
        )


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
        fields = _fields(value, "$", "stage", "key", "files", "seconds", "finished")
        files = _texts_by_name(fields["files"], "$.files")
        for name in files:
            inside(folder, name)
        peak = fields.get("peak_memory_bytes")
        return cls(
            stage=read_string(fields["stage"], "$.stage"),
            key=read_string(fields["key"], "$.key"),
            files=files,
            seconds=read_number(fields["seconds"], "$.seconds"),
            finished=read_string(fields["finished"], "$.finished"),
            made_from=_texts_by_name(fields.get("made_from", {}), "$.made_from"),
            notes=_texts(fields.get("notes", []), "$.notes"),
            peak_memory_bytes=None if peak is None else read_integer(peak, "$.peak_memory_bytes"),
        )

    def changed(self, folder: Path) -> list[str]:
        """Its files that are missing or no longer what they were."""
        return [name for name, known in self.files.items() if file_digest(folder / name) != known]


def check_losses(value: object) -> dict[str, Any]:
    """losses.json as `physplan.guidance.records` writes it."""
    fields = _fields(value, "$", "ended", "steps")
    read_string(fields["ended"], "$.ended")
    for i, entry in enumerate(read_list(fields["steps"], "$.steps", _MANY)):
        at = f"$.steps[{i}]"
        step = _fields(entry, at, "step", "stage", "terms")
        read_integer(step["step"], f"{at}.step")
        read_string(step["stage"], f"{at}.stage")
        for j, term in enumerate(read_list(step["terms"], f"{at}.terms", _MANY)):
            _check_term(term, f"{at}.terms[{j}]")
    return fields


def _check_term(value: object, at: str) -> None:
    fields = _fields(value, at, "event", "term", "objects")
    read_integer(fields["event"], f"{at}.event")
    read_string(fields["term"], f"{at}.term")
    _texts(fields["objects"], f"{at}.objects")
    if "value" in fields:
        read_number(fields["value"], f"{at}.value")
    read_string(fields.get("skipped", ""), f"{at}.skipped")


def _fields(value: object, at: str, *required: str) -> dict[str, Any]:
    """A JSON object with these fields and any others: a later version may write more."""
    fields = read_object(value, at)
    for name in required:
        if name not in fields:
            raise ParseError(at, f"lacks the field {name!r}")
    return fields


def _texts(value: object, at: str) -> tuple[str, ...]:
    return tuple(read_string(entry, f"{at}[{i}]") for i, entry in enumerate(read_list(value, at, _MANY)))


def _object(value: object, at: str) -> dict[str, Any]:
    """As it is: in the settings of a run, null is a value."""
    read_object(value, at)
    assert isinstance(value, dict)
    return value


def _texts_by_name(value: object, at: str) -> dict[str, str]:
    return {name: read_string(text, f"{at}.{name}") for name, text in read_object(value, at).items()}


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
