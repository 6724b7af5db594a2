"""What every result carries: protocol, judge, settings, seeds, versions, machine and time."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from physplan import __version__

LIBRARIES = ("torch", "diffusers", "transformers", "numpy", "scipy", "opencv-python-headless", "av", "ray")


def provenance(
    *, protocol: str, settings: Mapping[str, Any], judge: str | None = None, seeds: Sequence[int] = ()
) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "judge": judge,
        "settings": dict(settings),
        "seeds": list(seeds),
        "versions": versions(),
        "commit": commit(),
        "machine": {"platform": platform.platform(), "cpus": os.cpu_count()},
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def versions() -> dict[str, str]:
    found = {"physplan": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The commit of the source tree this package runs from, with a plus when it has uncommitted changes."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        git = ["git", "-C", str(root)]
        head = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, timeout=10
        )
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return head.stdout.strip() + "+" * bool(changed.stdout.strip()) if head.returncode == 0 else None


def file_digest(path: Path) -> str:
    """The content of a file as an identity field: another file under the same name is another case."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
