"""A worker on a Ray cluster (extra `cluster`): an actor that holds the same worker process as this machine's.

All nodes see the folder of runs under the same path, as on one machine or a network file system.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.extras import install_command
from physplan_studio.process import Died, Stopped, Worker

LOOK_SECONDS = 0.3  # seconds between looks at an actor
START_SECONDS = 60.0  # seconds for an actor to find room


def connect(address: str) -> Any:
    """The module `ray`, joined to the cluster; "local" starts one here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise PhysPlanError(f"--ray needs Ray: {install_command('cluster')}.") from error
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        options |= {"include_dashboard": False, "object_store_memory": 256 * 2**20}
    try:
        ray.init(address=address, **options)
    except Exception as error:  # Ray raises bare exceptions when a start takes too long
        raise PhysPlanError(
            f"No Ray cluster could be reached at {address} ({error}): give its address, or --ray local."
        ) from error
    return ray


class Remote:
    """What runs inside an actor."""

    def __init__(self, log: str, search_path: list[str]) -> None:
        sys.path += [entry for entry in search_path if entry not in sys.path]
        self._worker, self._events = Worker(Path(log)), list[dict[str, Any]]()

    def work(self, what: str, given: dict[str, Any], tag: str) -> dict[str, Any]:
        """The answer, or why there is none: exceptions of ours would come back as Ray's."""
        try:
            return {"result": self._worker.call(what, given, self._events.append, tag=tag)}
        except Stopped:
            return {"stopped": True}
        except Died as error:
            return {"died": str(error)}
        except PhysPlanError as error:
            return {"error": str(error)}

    def events(self) -> list[dict[str, Any]]:
        """Those since the last look."""
        found, self._events[:] = list(self._events), []
        return found

    def stop(self, tag: str) -> None:
        self._worker.stop(tag)

    def close(self) -> None:
        self._worker.close()


class RayWorker:
    """`cpus` and `gpus` of a node are held while the actor lives; one that died is replaced."""

    def __init__(self, ray: Any, log: Path, *, cpus: float = 1, gpus: float = 0) -> None:
        self._ray, self._log, self._needs = ray, log, {"num_cpus": cpus, "num_gpus": gpus}
        self._turn, self._actor = threading.Lock(), None
        self._tag, self._closed = "", False

    def call(
        self,
        what: str,
        given: Mapping[str, Any],
        on_event: Callable[[dict[str, Any]], None] | None = None,
        *,
        tag: str = "",
    ) -> dict[str, Any]:
        with self._turn:
            try:
                actor = self._alive()
                self._tag = tag
                answer = self._answer(actor, actor.work.remote(what, dict(given), tag), on_event)
            except self._ray.exceptions.RayError as error:
                self._actor = None
                if self._closed:
                    raise Stopped from None
                raise Died(
                    f"The Ray worker or its machine is gone ({type(error).__name__}). What is done is kept."
                ) from None
            finally:
                self._tag = ""
        if "stopped" in answer or ("died" in answer and self._closed):
            raise Stopped
        if "died" in answer:
            raise Died(answer["died"])
        if "error" in answer:
            raise PhysPlanError(answer["error"])
        return dict(answer["result"])

    def stop(self, tag: str) -> None:
        if self._actor is not None and self._tag == tag:
            self._actor.stop.remote(tag)

    def dismiss(self) -> None:
        self._closed = True
        if self._actor is not None:
            self._actor.close.remote()

    def close(self) -> None:
        self.dismiss()
        if self._actor is not None:
            with suppress(Exception):  # it is gone already
                self._ray.get(self._actor.close.remote(), timeout=20)
            self._ray.kill(self._actor)

    def _alive(self) -> Any:
        if self._closed:
            raise Stopped
        if self._actor is None:
            actor = (
                self._ray.remote(Remote)
                .options(**self._needs, max_concurrency=4, scheduling_strategy="SPREAD")
                .remote(str(self._log), sys.path)
            )
            try:
                self._ray.get(actor.events.remote(), timeout=START_SECONDS)
            except self._ray.exceptions.GetTimeoutError:
                self._ray.kill(actor)
                raise
            self._actor = actor
        return self._actor

    def _answer(
        self, actor: Any, reference: Any, on_event: Callable[[dict[str, Any]], None] | None
    ) -> dict[str, Any]:
        while True:
            ready, _ = self._ray.wait([reference], timeout=LOOK_SECONDS)
            for event in self._ray.get(actor.events.remote()):
                if on_event is not None:
                    on_event(event)
            if ready:
                return dict(self._ray.get(reference))


def require_room(ray: Any, workers: int, *, cpus: float = 1, gpus: float = 0) -> None:
    """Refuse what the cluster cannot give: Ray itself would wait for it for ever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    rooms = [
        min(int(node.get(kind, 0) // need) for kind, need in (("CPU", cpus), ("GPU", gpus)) if need)
        for node in nodes
    ]
    if sum(rooms) < workers:
        raise PhysPlanError(
            f"The Ray cluster has room for {sum(rooms)} worker(s) of {cpus:g} CPU and {gpus:g} GPU on"
            f" {len(nodes)} node(s), not for {workers}: give fewer --workers."
        )
