"""The studio over HTTP: the page, pictures, the files of runs, and the session's requests."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan.files import make_folder, write_atomic
from physplan.foreign import read_file
from physplan.pictures import MAX_BYTES
from physplan_studio.process import Worker
from physplan_studio.run_index import OWN
from physplan_studio.session import StudioSession
from physplan_studio.web.server import PageServer, Site, is_loopback, listen

if TYPE_CHECKING:
    from filelock import AcquireReturnProxy

MAX_BODY = 4_000_000
KEY = re.compile(r"[A-Za-z0-9_-]{20,}")


class Studio:
    """A server with its session; one for a folder of runs."""

    def __init__(
        self, runs: Path, *, host: str, port: int, make_worker: Callable[[Path], Worker] = Worker
    ) -> None:
        own = runs / OWN
        self._lock = hold(runs)
        try:
            self.session = StudioSession(runs.resolve(), make_worker=make_worker)
            self.server: PageServer = listen(host, port, self._site(own, host))
        except BaseException:
            self._lock.lock.release()
            raise

    def _site(self, own: Path, host: str) -> Site:
        return Site(
            name="studio",
            session=self.session,
            key="" if is_loopback(host) else _key(own / "key"),
            page=_page(),
            media=self.session.media,
            max_body=MAX_BODY,
            max_upload=MAX_BYTES,
        )

    def close(self) -> None:
        self.server.server_close()
        self.session.close()
        self._lock.lock.release()


def hold(runs: Path) -> AcquireReturnProxy[Any]:
    """The lock of a folder of runs: one studio or server works in it."""
    from filelock import FileLock, Timeout

    own = runs / OWN
    try:
        if own.is_symlink() or runs.is_file():
            raise PhysPlanError(f"{runs} cannot hold runs: choose another folder with --runs.")
        make_folder(own)
        return FileLock(own / "lock").acquire(timeout=0)
    except Timeout:
        raise PhysPlanError(
            f"A studio is open on {runs} already: use its page, or give another folder with --runs."
        ) from None
    except OSError as error:
        raise PhysPlanError(
            f"{runs} cannot be written to ({error.strerror}): choose another folder with --runs."
        ) from None


def _page() -> dict[str, bytes]:
    """The page's own files, index.html first."""
    folder = resources.files("physplan_studio").joinpath("page")
    names = sorted((one.name for one in folder.iterdir() if one.is_file()), key=lambda n: n != "index.html")
    return {name: folder.joinpath(name).read_bytes() for name in names}


def _key(path: Path) -> str:
    """Of the link, the same after a restart; readable by its owner alone. What is no key is replaced."""
    try:
        found = read_file(path, limit=1_000, links=False).decode("ascii").strip()
    except (OSError, UnicodeDecodeError, PhysPlanError):
        found = ""
    if KEY.fullmatch(found):
        os.chmod(path, 0o600)
        return found
    key = secrets.token_urlsafe(18)
    write_atomic(path, key, mode=0o600)
    return key
