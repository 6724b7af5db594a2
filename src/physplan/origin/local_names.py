"""Settings that go into a file which is passed on: without the paths of the machine they were used on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

LOCAL = "local:"  # stands before the last name of what was a path
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def without_paths(value: Any) -> Any:
    """The same settings; of a path only the last name is left."""
    if isinstance(value, Mapping):
        return {name: without_paths(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(entry) for entry in value]
    if isinstance(value, str) and is_path(value):
        return f"{LOCAL}{PurePosixPath(value.replace(chr(92), '/')).name}"
    return value


def is_path(text: str) -> bool:
    """Whether a text leads to a place on a machine; a name on the hub, owner/name, does not."""
    if text.startswith(LOCAL) or not ("/" in text or "\\" in text):
        return False
    return not _HUB_NAME.fullmatch(text) or text[0] in ".~" or _is_there(text)


def _is_there(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def local_names(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """(dotted name, last name) of every setting that was a path, or is one in a file from elsewhere."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield from local_names(entry, f"{at}.{name}" if at else str(name))
    elif isinstance(value, list):
        for i, entry in enumerate(value):
            yield from local_names(entry, f"{at}[{i}]")
    elif isinstance(value, str) and (value.startswith(LOCAL) or is_path(value)):
        yield at, PurePosixPath(value.removeprefix(LOCAL)).name
