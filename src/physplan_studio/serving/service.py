"""A server with its session; one for a folder of runs, as the studio is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.settings import DEFAULT_PRESET
from physplan_studio.process import Worker
from physplan_studio.queue import AtWork
from physplan_studio.run_index import OWN
from physplan_studio.server import hold
from physplan_studio.serving.ray_worker import RayWorker, connect, require_room
from physplan_studio.serving.server import VideosServer
from physplan_studio.serving.videos import Videos
from physplan_studio.session import StudioSession

JOB_RETRIES = 5  # of a job whose worker died
MOST_WORKERS = 1_000


@dataclass(frozen=True, kw_only=True)
class Workers:
    """How many make videos, and where: processes of this machine, or of the Ray cluster at an address."""

    number: int = 1
    ray: str | None = None
    cpus: float = 1  # of a worker on Ray
    gpus: float = 0

    def __post_init__(self) -> None:
        if not 1 <= self.number <= MOST_WORKERS:
            raise PhysPlanError(f"--workers must be from 1 to {MOST_WORKERS}, not {self.number}.")
        if not (0 < self.cpus <= 1_000 and 0 <= self.gpus <= 100):
            raise PhysPlanError("A worker holds more than 0 CPUs, and 0 GPUs or more.")


class Service:
    def __init__(
        self,
        runs: Path,
        *,
        host: str,
        port: int,
        token: str,
        preset: str = DEFAULT_PRESET,
        workers: Workers | None = None,
        make_worker: Callable[[Path], Worker] = Worker,
    ) -> None:
        self._lock = hold(runs)
        self._ray: Any = None
        try:
            made = self._made(workers or Workers(), runs.resolve() / OWN / "worker.log", make_worker)
            self.session = StudioSession(
                runs.resolve(), make_worker=make_worker, video_workers=made, retries=JOB_RETRIES
            )
            self.videos = Videos(self.session, preset=preset)
            self.server = VideosServer((host, port), self.videos, token)
        except BaseException:
            self._lock.lock.release()
            raise
        self.videos.resume()

    def _made(self, wanted: Workers, log: Path, make: Callable[[Path], Worker]) -> list[AtWork]:
        if wanted.ray is None:
            return [make(log) for _ in range(wanted.number)]
        self._ray = connect(wanted.ray)
        require_room(self._ray, wanted.number, cpus=wanted.cpus, gpus=wanted.gpus)
        return [RayWorker(self._ray, log, cpus=wanted.cpus, gpus=wanted.gpus) for _ in range(wanted.number)]

    def close(self) -> None:
        self.server.server_close()
        self.session.close()
        if self._ray is not None:
            self._ray.shutdown()
        self._lock.lock.release()
