"""A benchmark as a folder: one case, one identity, one atomic result, one claim while a worker has it.

    FOLDER/manifest.json                    the cases of the last run, in order
    FOLDER/cases/<name>-<key>/result.json   written once, when the case is done
    FOLDER/cases/<name>-<key>/claim         locked by the process that is doing the case

The key is a hash of the case's identity fields, so a changed field finds no old result. A claim is a lock of
the operating system on an open file: it vanishes with its process, however that ends, so none is ever stale.
A result carries a checksum of itself and of the files beside it; a damaged one counts as none.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.foreign import inside, read_file
from physplan.graph.json_values import Limits, read_list, read_object, read_string
from physplan.graph.parsing import parse_json
from physplan_bench.provenance import file_digest

MAX_RESULT = 500_000_000  # bytes: a list of many cases, or one case with many measurements
LIMITS = Limits(max_bytes=MAX_RESULT, max_depth=60, max_entries=50_000_000)

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One independent piece of a benchmark. Whatever changes its result belongs into `identity`."""

    name: str
    identity: Mapping[str, Any]
    group: str = ""  # whose result it is, such as a method: partial results are averaged within it only

    @property
    def key(self) -> str:
        try:
            text = json.dumps(
                {"name": self.name, "identity": self.identity},
                sort_keys=True,
                separators=(",", ":"),
                allow_nan=False,
            )
        except (TypeError, ValueError) as error:
            raise PhysPlanError(
                f"The identity of case {self.name!r} cannot be written as JSON ({error}): "
                "use numbers, strings, lists and dictionaries."
            ) from error
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def stem(self) -> str:
        """The folder's name: readable first, unique by the key."""
        readable = re.sub(r"[^A-Za-z0-9._-]+", "-", self.name).strip("-.")[:60] or "case"
        return f"{readable}-{self.key[:16]}"


@dataclass(kw_only=True)
class Claim:
    """The right to do one case, held until `release` or until this process ends."""

    lock: BaseFileLock

    def release(self) -> None:
        self.lock.release()


@dataclass(frozen=True)
class CaseStore:
    """The results and claims of one folder, which several processes may share."""

    folder: Path
    _known: dict[str, Mapping[str, Any]] = field(default_factory=dict, repr=False, compare=False)
    _damaged: set[str] = field(default_factory=set, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise PhysPlanError(f"{self.folder} is a file; give a folder for the results of the cases.")
        self.folder.mkdir(parents=True, exist_ok=True)

    def directory(self, case: Case) -> Path:
        return inside(self.folder, f"cases/{case.stem}")

    def result(self, case: Case) -> Mapping[str, Any] | None:
        """The stored record of the case, or None. A damaged one is named, once, and counts as none."""
        if case.stem not in self._known:
            path = inside(self.directory(case), "result.json")
            try:
                record = parse_json(read_file(path, limit=MAX_RESULT, links=False), LIMITS)
                fault = find_fault(record, case, path.parent)
            except FileNotFoundError:
                return None
            except ValueError as error:
                fault = f"it is no JSON: {error}"
            except OSError as error:
                raise PhysPlanError(f"{path} cannot be read ({error.strerror}).") from error
            if not fault:
                self._known[case.stem] = record
            elif case.stem not in self._damaged:
                self._damaged.add(case.stem)
                LOG.warning("%s is damaged (%s): the case is done again.", path, fault)
        return self._known.get(case.stem)

    def claim(self, case: Case) -> Claim | None:
        """Take the case, or None when another process is doing it just now."""
        directory = self.directory(case)
        directory.mkdir(parents=True, exist_ok=True)
        lock = FileLock(inside(directory, "claim"), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        return Claim(lock=lock)

    def save(self, case: Case, result: Mapping[str, Any], *, seconds: float, attempts: int) -> None:
        record = {
            "case": case.name,
            "key": case.key,
            "identity": dict(case.identity),
            "seconds": round(seconds, 6),
            "attempts": attempts,
            "result": dict(result),
            "files": {path.name: file_digest(path) for path in case_files(self.directory(case))},
        }
        record["checksum"] = checksum(record)
        write_json(self.directory(case) / "result.json", record)
        self._known[case.stem] = record
        self._damaged.discard(case.stem)

    def write_manifest(self, cases: Sequence[Case]) -> None:
        write_json(
            self.folder / "manifest.json",
            [{"name": case.name, "identity": dict(case.identity), "group": case.group} for case in cases],
        )

    def manifest(self) -> list[Case]:
        path = self.folder / "manifest.json"
        try:
            content = parse_json(read_file(path, limit=MAX_RESULT, links=False), LIMITS)
            return [_case(entry, f"$[{i}]") for i, entry in enumerate(read_list(content, "$", 10_000_000))]
        except (OSError, ValueError) as error:
            raise PhysPlanError(
                f"{path} is not the list of cases of a benchmark ({error}); give the folder of a run."
            ) from error

    def state(self, case: Case) -> str:
        """`done`, `running` (claimed by a live process) or `missing`."""
        if self.result(case) is not None:
            return "done"
        if not (self.directory(case) / "claim").exists():
            return "missing"
        claim = self.claim(case)
        if claim is None:
            return "running"
        claim.release()
        return "missing"


def case_files(directory: Path) -> list[Path]:
    """What a case left beside its result; folders (a run's) look after themselves."""
    own = ("result.json", "claim")
    if not directory.is_dir():
        return []
    return [
        path
        for path in sorted(directory.iterdir())
        if path.is_file() and path.name not in own and not path.name.startswith(".")
    ]


def checksum(record: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in record.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def find_fault(record: Any, case: Case, directory: Path) -> str | None:
    """What is wrong with a stored result. One of an older version has no checksum to compare."""
    if not isinstance(record, dict) or not isinstance(record.get("result"), dict):
        return "it holds no result"
    if record.get("key") != case.key:
        return "it belongs to another case"
    if "checksum" in record and record["checksum"] != checksum(record):
        return "its checksum does not fit"
    files = record.get("files", {})
    if not isinstance(files, dict) or not isinstance(record.get("seconds"), int | float):
        return "it is of another kind"
    for name, digest in files.items():
        if not inside(directory, name).is_file():
            return f"{name} is not beside it"
        if file_digest(directory / name) != digest:
            return f"{name} beside it has changed"
    return None


def _case(value: object, at: str) -> Case:
    fields = read_object(value, at, ("name", "identity"), ("group",))
    read_object(fields["identity"], f"{at}.identity")
    group = fields.get("group") or fields["identity"].get("arm", "")  # as older folders say it
    return Case(
        name=read_string(fields["name"], f"{at}.name"),
        identity=fields["identity"],
        group=read_string(group, f"{at}.group"),
    )


def check_unique(cases: Sequence[Case]) -> None:
    """Two cases with one identity would share a result: refuse them before any work is done."""
    seen: set[str] = set()
    for case in cases:
        if case.key in seen:
            raise PhysPlanError(
                f"The case {case.name!r} occurs twice; give every case its own name or identity."
            )
        seen.add(case.key)


def shard(cases: Sequence[Case], spec: str) -> list[Case]:
    """The i-th of n parts, `i/n` counted from 1: every n-th case, so that all parts take about as long."""
    match = re.fullmatch(r"(\d+)/(\d+)", spec)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise PhysPlanError(
            f"--shard {spec!r} is not i/n with 1 <= i <= n; for example --shard 1/8 to --shard 8/8."
        )
    return list(cases[int(match[1]) - 1 :: int(match[2])])
