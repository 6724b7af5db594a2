"""The tested set, with hashes: `make lock` writes the .txt files here, and constraints.txt.

The versions above the mark in constraints.txt are chosen by hand; those below it are what these bring along,
and stay as they are until `make lock UPGRADE=--upgrade`. pip is asked twice: as this machine is set up, and
with nothing but an ordinary index. cpu.txt holds the torch of the first, if it is one for the CPU alone, and
cuda.txt that of the second with all that it needs beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
CONSTRAINTS = ROOT / "constraints.txt"
# What the tests need.
TESTED = ("dev", "gemini", "openai", "eval", "cluster", "provenance", "gguf", "photo", "docs")
MARK = "# What these bring along, by `make lock`:"
HEAD = "# {what}\n# For Linux on x86_64 and CPython 3.11. Made by `make lock`: do not edit.\n"


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    hashes: frozenset[str]

    def line(self) -> str:
        return " \\\n    ".join(
            [f"{self.name}=={self.version}", *(f"--hash=sha256:{h}" for h in sorted(self.hashes))]
        )


Packages = Mapping[str, Package]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(*extras: str) -> list[str]:
    """What the package asks for, and what builds it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    optional = project["project"]["optional-dependencies"]
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    return [*asked, *(name for extra in extras for name in optional[extra])]


def resolve(requirements: Iterable[str], pins: Path, *, ordinary: bool) -> Packages:
    """What pip would install. `ordinary`: without this machine's own indexes and folders of wheels."""
    environ = dict(os.environ)
    if ordinary:
        environ = {
            name: value for name, value in environ.items() if not re.match("PIP_(FIND|EXTRA|INDEX)", name)
        }
        environ["PIP_CONFIG_FILE"] = os.devnull
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--only-binary=:all:", "--report", str(report), "-c", str(pins), *requirements]
        subprocess.run(command, env=environ, check=True)
        found = json.loads(report.read_text("utf-8"))["install"]
    packages = [
        Package(
            name=normal(one["metadata"]["name"]),
            version=one["metadata"]["version"],
            hashes=frozenset([one["download_info"]["archive_info"]["hashes"]["sha256"]]),
        )
        for one in found
    ]
    return {package.name: package for package in packages}


def joined(here: Packages, ordinary: Packages) -> list[Package]:
    """All but torch, each with the hashes of both: a file may be built or named otherwise."""
    found = []
    for name in here.keys() - {"torch"}:
        one, other = here[name], ordinary[name]
        if one.version != other.version:
            raise SystemExit(f"{name} is {one.version} here and {other.version} elsewhere: pin it.")
        found.append(Package(name, one.version, one.hashes | other.hashes))
    return found


def write(path: Path, what: str, packages: Iterable[Package]) -> None:
    lines = [package.line() for package in sorted(packages, key=lambda package: package.name)]
    path.write_text(HEAD.format(what=what) + "\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--upgrade", action="store_true", help="choose the versions below the mark anew")
    upgrade = parser.parse_args().upgrade
    chosen = CONSTRAINTS.read_text("utf-8").partition(MARK)[0].rstrip() + "\n"
    by_hand = {normal(line.partition("==")[0]) for line in chosen.splitlines() if "==" in line}
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "pins.txt"
        pins.write_text(chosen if upgrade else CONSTRAINTS.read_text("utf-8"), encoding="utf-8")
        dev = resolve(wanted(*TESTED), pins, ordinary=False)
        brought = [dev[name] for name in sorted(dev.keys() - by_hand)]
        pins.write_text(chosen + "".join(f"{one.name}=={one.version}\n" for one in brought), encoding="utf-8")
        base = resolve(wanted(), pins, ordinary=False)
        photo = resolve(wanted("photo"), pins, ordinary=False)
        ordinary = resolve(wanted(*TESTED), pins, ordinary=True)
        CONSTRAINTS.write_text(pins.read_text("utf-8").replace(chosen, f"{chosen}{MARK}\n"), encoding="utf-8")
    write(HERE / "base.txt", "What PhysPlan needs beside torch, and what builds it.", joined(base, ordinary))
    write(HERE / "photo.txt", "What `make photo` needs beside torch.", joined(photo, ordinary))
    write(HERE / "dev.txt", "All that the tests need beside torch, the base included.", joined(dev, ordinary))
    for_torch = [resolve(["uv"], CONSTRAINTS, ordinary=ordinary) for ordinary in (False, True)]
    write(HERE / "uv.txt", "Finds torch for the CPU alone where pip is told of none.", joined(*for_torch))
    if "+cpu" in dev["torch"].version:  # otherwise the one that is known stays
        write(HERE / "cpu.txt", "torch for the CPU alone, where pip is told of one.", [dev["torch"]])
    cuda = [ordinary[name] for name in (ordinary.keys() - dev.keys()) | {"torch"}]
    write(HERE / "cuda.txt", "The index's own torch, and what it needs beside it.", cuda)
    print(f"{len(base)} packages in base.txt, {len(dev)} in dev.txt, {len(cuda)} in cuda.txt.")


if __name__ == "__main__":
    main()
