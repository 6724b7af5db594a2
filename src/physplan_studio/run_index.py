"""The runs' folder: every run in it, old ones too; their files by exact names; a bin for what is deleted."""

from __future__ import annotations

import itertools
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.foreign import inside
from physplan.graph.errors import GraphError
from physplan.pipeline.result import cost_of
from physplan.runs import RunFolder, layout
from physplan.runs.records import RunRecord
from physplan.runs.verdicts import verdict_of
from physplan_studio.objects import boxes

OWN, BIN = ".studio", ".bin"
DEPTH, MOST = 3, 5_000  # folders below the runs' folder that are looked into; runs that are listed
SHOWN = (
    *(layout.INPUT, layout.FRAME, layout.PLAN, layout.SKETCH, layout.SKETCH_STRIP),
    *(layout.VIDEO, layout.STRIP, layout.PREVIEW, layout.REPORT, layout.SIMULATION),
)
CARD = (layout.RUN, layout.RECORDS, layout.VIDEO, layout.FAILURE, layout.REPORT)  # what a card is made of
KEYFRAME = re.compile(rf"{layout.KEYFRAMES_FOLDER}/[1-9][0-9]{{0,2}}\.png")


class RunIndex:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, tuple[tuple[int, ...], dict[str, Any] | None]] = {}  # None: no run's record

    def folder(self, name: object) -> Path:
        """The folder of a run by its name; whatever leads elsewhere is refused."""
        if not isinstance(name, str) or not name or len(name) > 1_000:
            raise PhysPlanError("There is no such run.")
        parts, folder = name.split("/"), self.root
        odd = any(not part or part[0] == "." or part != os.path.basename(part) for part in parts)
        if odd or len(parts) > DEPTH:
            raise PhysPlanError("There is no such run.")
        try:
            for part in parts:
                folder /= part
                if folder.is_symlink():
                    raise PhysPlanError("A link may lead elsewhere.")
            layout.load_run(folder)
        except (OSError, ValueError, PhysPlanError):
            raise PhysPlanError("There is no such run: it may have been deleted.") from None
        return folder

    def is_run(self, name: str) -> bool:
        try:
            self.folder(name)
        except PhysPlanError:
            return False
        return True

    def file(self, name: str) -> Path | None:
        """`RUN/FILE`, where FILE is one that pages show."""
        run, _, rest = name.rpartition("/")
        if run.endswith(f"/{layout.KEYFRAMES_FOLDER}"):
            run, rest = run.removesuffix(f"/{layout.KEYFRAMES_FOLDER}"), f"{layout.KEYFRAMES_FOLDER}/{rest}"
        if rest not in SHOWN and not KEYFRAME.fullmatch(rest):
            return None
        try:
            path = inside(self.folder(run), rest)
        except (PhysPlanError, ValueError):
            return None
        return path if path.is_file() else None

    def names(self) -> list[str]:
        return [path.relative_to(self.root).as_posix() for path in _runs(self.root, DEPTH)][:MOST]

    def is_taken(self, name: str) -> bool:
        return os.path.lexists(self.root / name)

    def free_name(self, prompt: str, in_use: Callable[[str], object]) -> str:
        """A name of the prompt's words for a new run; `in_use` knows those that have no folder yet."""
        words = re.sub(r"[^a-z0-9]+", "-", prompt.lower()).strip("-")[:40].strip("-") or "run"
        names = (f"{words}-{number}" for number in itertools.count(1))
        return next(name for name in names if not self.is_taken(name) and not in_use(name))

    def cards(self) -> list[dict[str, Any]]:
        """All runs, the newest first, with what a card shows."""
        return [card for name in self.newest() if (card := self.card(name)) is not None]

    def newest(self) -> list[str]:
        """All names, the newest run first, by the times of their files alone: nothing is read.

        A folder whose record was read before and refused is left out until the record changes."""
        stamps = {name: self._stamp(name) for name in self.names()}
        runs = [name for name, stamp in stamps.items() if self._known.get(name) != (stamp, None)]
        return sorted(runs, key=lambda name: max(stamps[name]), reverse=True)

    def card(self, name: str) -> dict[str, Any] | None:
        """What a card shows; None of a folder that is no run, or is just being removed."""
        try:
            return self._card(name)
        except (PhysPlanError, GraphError, OSError):
            return None

    def _stamp(self, name: str) -> tuple[int, ...]:
        folder = os.path.join(self.root, name)
        return tuple(_changed(os.path.join(folder, one)) for one in CARD)

    def _card(self, name: str) -> dict[str, Any]:
        """Kept until one of the run's files that it is made of changes."""
        stamp = self._stamp(name)
        known = self._known.get(name)
        if known and known[0] == stamp and known[1] is not None:
            return known[1]
        try:
            card = self._make_card(name, self.root / name, max(stamp))
        except (PhysPlanError, GraphError):
            self._known[name] = stamp, None
            raise
        self._known[name] = stamp, card
        return card

    def _make_card(self, name: str, folder: Path, changed: int) -> dict[str, Any]:
        record, run = layout.load_run(folder), RunFolder(folder)
        done = {stage: one.seconds for stage in layout.STAGES if (one := run.record(stage))}
        return {
            "run": name,
            "prompt": record.prompt,
            "method": record.method,
            "seed": record.seed,
            "preset": preset_of(folder),
            "picture": str(record.identity.get("image", "")),
            "changed": changed / 1e9,
            "steps": record.identity.get("video.num_inference_steps"),
            "seconds": round(sum(done.values()), 1),
            "stages": done,
            "finished": "video" in done,
            "verdict": _verdict(run) if "video" in done else "",
            "failure": (layout.load_failure(folder) or {}).get("error", ""),
            "files": versions(folder),
        }

    def details(self, name: str) -> dict[str, Any]:
        """A card, and the plan with all that the page of one run shows."""
        folder = self.folder(name)
        card = dict(self._card(name))
        plan, keyframes = None, []
        if (folder / layout.PLAN).is_file():
            plan = layout.load_plan(folder).to_json()
        if RunFolder(folder).record("keyframes"):
            keyframes = [
                {"event": one.event, "instruction": one.instruction, "problems": list(one.problems)}
                for one in layout.load_keyframe_records(folder)
            ]
        cost = cost_of(RunFolder(folder))
        found = verdict_of(RunFolder(folder)) if card["finished"] else None
        return card | {
            "files": versions(folder),
            "plan": plan,
            "given_plan": layout.load_run(folder).plan is not None,
            "given_keyframes": layout.load_run(folder).keyframes is not None,
            "keyframes": keyframes,
            "objects": boxes(folder),
            "usd": cost.usd,
            "sentence": found.sentence() if found else "",
            "attempts": [
                {"seed": one.seed, "verdict": one.verdict, "chosen": one.chosen}
                for one in layout.load_attempts(folder)
            ],
            "settings": _settings(layout.load_run(folder)),
        }

    def delete(self, name: str) -> str:
        """Into the bin; the lock is held, so that no process works in it."""
        folder = self.folder(name)
        target = _free(self.root / BIN / name.replace("/", "--"))
        target.parent.mkdir(exist_ok=True)
        with RunFolder(folder).locked():
            folder.rename(target)
        return target.name

    def restore(self, binned: str) -> str:
        """Back from the bin, under a free name."""
        if binned not in self.binned():
            raise PhysPlanError("There is no such run in the bin.")
        target = _free(self.root / binned)
        (self.root / BIN / binned).rename(target)
        return target.name

    def binned(self) -> list[str]:
        folder = self.root / BIN
        if not folder.is_dir() or folder.is_symlink():
            return []
        return sorted(one.name for one in folder.iterdir() if one.is_dir() and not one.is_symlink())


def versions(folder: Path) -> dict[str, int]:
    """The files that are there, with a number that changes when they do: for addresses that may be kept."""
    found = {name: _changed(folder / name) // 1_000_000 for name in SHOWN}
    keyframes = folder / layout.KEYFRAMES_FOLDER
    if keyframes.is_dir() and not keyframes.is_symlink():
        for path in keyframes.iterdir():
            name = f"{layout.KEYFRAMES_FOLDER}/{path.name}"
            if KEYFRAME.fullmatch(name):
                found[name] = _changed(path) // 1_000_000
    return {name: version for name, version in found.items() if version}


def preset_of(folder: Path) -> str:
    """The recipe that a run began as, from the line of its config."""
    from physplan import presets

    try:
        with (folder / layout.CONFIG).open("rb") as file:
            head = file.read(4_096).decode("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(r"^preset: ([a-z]+)$", head, re.MULTILINE)
    return found[1] if found and found[1] in presets.NAMES else ""


def _settings(record: RunRecord) -> Mapping[str, Any]:
    from physplan_studio.spec import SETTINGS

    return {name: record.identity[name] for name in SETTINGS if name in record.identity}


def _verdict(run: RunFolder) -> str:
    try:
        return verdict_of(run).verdict
    except (PhysPlanError, GraphError):
        return "not checked"


def _changed(path: str | Path) -> int:
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return 0 if stat.S_ISLNK(found.st_mode) else found.st_mtime_ns


def _runs(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
            continue
        path = Path(entry.path)
        if (path / layout.RUN).is_file():
            yield path
        elif depth > 1:
            yield from _runs(path, depth - 1)


def _free(path: Path) -> Path:
    if not os.path.lexists(path):
        return path
    return path.with_name(f"{path.name}-{time.strftime('%Y%m%d-%H%M%S')}-{time.monotonic_ns() % 1000:03}")
