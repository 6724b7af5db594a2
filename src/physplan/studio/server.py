"""The studio over HTTP: the page, pictures, the files of runs, and the session's requests."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.files import make_folder, write_atomic
from physplan.pictures import MAX_BYTES
from physplan.studio.process import Worker
from physplan.studio.session import StudioSession
from physplan.studio.shelf import OWN
from physplan.web.server import PageServer, Site, is_loopback, listen

MAX_BODY = 4_000_000


class Studio:
    """A server with its session; one for a folder of runs."""

    def __init__(
        self, runs: Path, *, host: str, port: int, make_worker: Callable[[Path], Worker] = Worker
    ) -> None:
        from filelock import FileLock, Timeout

        own = runs / OWN
        try:
            if own.is_symlink() or runs.is_file():
                raise PhysPlanError(f"{runs} cannot hold runs: choose another folder with --runs.")
            make_folder(own)
            self._lock = FileLock(own / "lock").acquire(timeout=0)
        except Timeout:
            raise PhysPlanError(
                f"A studio is open on {runs} already: use its page, or give another folder with --runs."
            ) from None
        except OSError as error:
            raise PhysPlanError(
                f"{runs} cannot be written to ({error.strerror}): choose another folder with --runs."
            ) from None
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


def _page() -> dict[str, bytes]:
    """The page's own files, index.html first."""
    folder = resources.files("physplan.studio").joinpath("page")
    names = sorted((one.name for one in folder.iterdir() if one.is_file()), key=lambda n: n != "index.html")
    return {name: folder.joinpath(name).read_bytes() for name in names}


def _key(path: Path) -> str:
    """Of the link, the same after a restart; readable by its owner alone."""
    if not path.exists():
        write_atomic(path, secrets.token_urlsafe(18))
        os.chmod(path, 0o600)
    return path.read_text(encoding="utf-8").strip()
