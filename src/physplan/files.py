"""Atomic files: a reader finds the old content or the new one, never half of it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Suffix of files being written, unique to us; only the owner of a folder removes them there.
TEMPORARY = ".physplan-unfinished-"
# Read once, at import: it can only be read by setting it, which two threads at a time would do wrong.
_UMASK = os.umask(0)
os.umask(_UMASK)


@contextmanager
def atomic_path(target: str | os.PathLike[str], *, mode: int = 0o666) -> Iterator[Path]:
    """Yield a temporary path beside `target`; it becomes `target` when the block ends without an error.

    The temporary name keeps the suffix, because writers such as PyAV choose the format by it.
    """
    target = Path(target)
    make_folder(target.parent)
    # With the target's mark in its name: what a kill leaves is removed by the next one that writes the file.
    prefix = f"{TEMPORARY}{hashlib.sha256(target.name.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}-"
    _remove_left(target.parent, prefix)
    handle, name = _make(target.parent, prefix, target.suffix)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(mode & ~_UMASK)
        temporary.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        if (
            error.errno is not None and error.filename is None
        ):  # a write says what is wrong, not with which file
            error.filename = str(target)
        raise
    finally:
        temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def _make(folder: Path, prefix: str, suffix: str) -> tuple[int | None, str]:
    """A new file, held by this process until the handle is closed: so it is known not to be left over."""
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=folder)
        if not _hold(handle):
            os.close(handle)  # where files cannot be held, they can often not be renamed while open either
            return None, name
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # taken for a leftover before it was held


def _hold(handle: int, *, wait: bool = True) -> bool:
    """The system's lock on an open file, which ends with the process; False where there is none to be had."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def _remove_left(folder: Path, prefix: str) -> None:
    """What a killed process left of the same file."""
    for path in (folder / name for name in os.listdir(folder) if name.startswith(prefix)):
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError:  # another process has just removed it
            continue
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode) and _hold(handle, wait=False):
                path.unlink(missing_ok=True)
        finally:
            os.close(handle)


def make_folder(folder: Path) -> None:
    """The folder and those above it, on disk."""
    missing = [folder, *folder.parents]
    missing = missing[: next((i for i, one in enumerate(missing) if one.is_dir()), len(missing))]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        sync_folder(made.parent)


def sync_folder(folder: Path) -> None:
    """A new name is safe from a power cut when its folder is on disk too, where the system knows of that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # some network drives cannot
            raise
    finally:
        os.close(descriptor)


def write_atomic(target: str | os.PathLike[str], content: str | bytes, *, mode: int = 0o666) -> None:
    with atomic_path(target, mode=mode) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def write_json(target: str | os.PathLike[str], value: Any) -> None:
    write_atomic(target, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
