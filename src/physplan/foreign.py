"""Files and words of untrusted origin: files are read as far as a limit, words shown as words.

A folder of a run, a plan or a picture can come from anywhere. What is not a regular file (a pipe that never
ends, a device, a folder) is refused, and a name leads nowhere outside its folder.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from pathlib import Path, PurePosixPath

from physplan.errors import PhysPlanError

# Where they exist: a pipe is opened without waiting for its writer, and a link is not followed.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def inside(folder: Path, name: str) -> Path:
    """The file `name` of a folder; refused where the name, or a link on the way, leads outside."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or "\0" in name or ":" in parts[0]:
        raise PhysPlanError(f"{folder} names the file {name[:80]!r}, which is not inside it: do not use it.")
    path = folder
    for part in parts:
        path = path / part
        if path.is_symlink():
            raise PhysPlanError(f"{path} is a symbolic link: put the file itself there.")
    return path


def read_file(path: str | os.PathLike[str], *, limit: int, links: bool = True) -> bytes:
    """The content of a regular file of at most `limit` bytes. A missing file is a FileNotFoundError."""
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | (0 if links else _NO_LINK))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PhysPlanError(f"{os.fspath(path)} is not a regular file: give the file itself.")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise PhysPlanError(f"{os.fspath(path)} is larger than {_size(limit)}: give a smaller file.")
    return content


def _size(limit: int) -> str:
    return f"{limit / 1e6:g} MB" if limit >= 100_000 else f"{limit / 1e3:g} kB"


def plain(text: object, *, lines: bool = False) -> str:
    """Words for a terminal or a page, without what is no letter but an order: control and format characters.

    They move the cursor, recolour, hide text or turn its direction. Line breaks stay only where asked for.
    """
    return "".join(_plain_character(c, lines) for c in str(text))


def _plain_character(character: str, lines: bool) -> str:
    if not unicodedata.category(character).startswith("C") or (lines and character == "\n"):
        return character
    return " " if character.isspace() else ""
