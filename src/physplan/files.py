"""Atomic files: a reader finds the old content or the new one, never half of it."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Of what is being written. Nobody else's files are called so; only the owner of a folder removes them there.
TEMPORARY = ".physplan-unfinished-"
# Read once, at import: it can only be read by setting it, which two threads at a time would do wrong.
_UMASK = os.umask(0)
os.umask(_UMASK)


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `target`; it becomes `target` when the block ends without an error.

    The temporary name keeps the suffix, because writers such as PyAV choose the format by it.
    """
    target = Path(target)
    make_folder(target.parent)
    handle, name = tempfile.mkstemp(prefix=TEMPORARY, suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_UMASK)
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


def write_atomic(target: str | os.PathLike[str], content: str | bytes) -> None:
    with atomic_path(target) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def write_json(target: str | os.PathLike[str], value: Any) -> None:
    write_atomic(target, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
