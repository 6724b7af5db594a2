"""A server with its session; one for a folder of runs, as the studio is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from physplan.settings import DEFAULT_PRESET
from physplan_studio.process import Worker
from physplan_studio.server import hold
from physplan_studio.serving.server import VideosServer
from physplan_studio.serving.videos import Videos
from physplan_studio.session import StudioSession


class Service:
    def __init__(
        self,
        runs: Path,
        *,
        host: str,
        port: int,
        token: str,
        preset: str = DEFAULT_PRESET,
        make_worker: Callable[[Path], Worker] = Worker,
    ) -> None:
        self._lock = hold(runs)
        try:
            self.session = StudioSession(runs.resolve(), make_worker=make_worker)
            self.videos = Videos(self.session, preset=preset)
            self.server = VideosServer((host, port), self.videos, token)
        except BaseException:
            self._lock.lock.release()
            raise
        self.videos.resume()

    def close(self) -> None:
        self.server.server_close()
        self.session.close()
        self._lock.lock.release()
