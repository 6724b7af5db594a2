"""A folder that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.files import TEMPORARY, make_folder


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder beside `target` to write into, which takes that name when all is written."""
    require_new(target)
    parent = target.absolute().parent
    make_folder(parent)
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        if target.is_dir():
            target.rmdir()  # it is empty
        os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def require_new(target: Path) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PhysPlanError(f"{target} is there already: give a new folder.")
