"""Optional dependencies: one sentence with the command that installs what is missing."""

from __future__ import annotations

import importlib.util
import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from physplan.errors import PhysPlanError


def is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing too
        return False


def need_extra(module: str, *, extra: str) -> None:
    if not is_installed(module):
        raise PhysPlanError(f"This needs an optional part that is not installed: {install_command(extra)}.")


def install_command(extra: str) -> str:
    """How pip adds an extra to what is installed here: from the folder that it came from, if there is one."""
    if (folder := _source()) is None:
        return f"pip install 'physplan[{extra}]'"
    pins = f"-c '{folder / 'constraints.txt'}' " if (folder / "constraints.txt").exists() else ""
    return f"pip install {pins}-e '{folder}[{extra}]'"


def _source() -> Path | None:
    """The folder that pip installed this package from; None where it was a file or an index."""
    try:
        origin = json.loads(distribution("physplan").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    parts = urlsplit(str(origin.get("url", "")))
    folder = Path(url2pathname(parts.path))
    return folder if "dir_info" in origin and parts.scheme == "file" and folder.is_dir() else None
