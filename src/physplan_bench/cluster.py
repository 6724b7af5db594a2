"""Ray workers (extra `cluster`): one warm actor per worker, replaced when it or its node dies.

The driver claims and stores; an actor only computes. Where actors see the same folder as the driver (one
machine, a network file system) a case's files are written in place; elsewhere they come back with the result.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.extras import install_command
from physplan.files import write_atomic
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction, EngineConfig, Outcome, Setup, attempt, describe


class WarmWorker:
    """What runs inside an actor: the function is set up with the first case and kept."""

    def __init__(self, setup: bytes, search_path: list[str]) -> None:
        sys.path += [
            entry for entry in search_path if entry not in sys.path
        ]  # as a spawned process would have it
        self._setup = setup  # unpickled late, where a missing module can be reported
        self._function: CaseFunction | None = None

    def run(self, case: Case, directory: Path, token: str) -> tuple[Outcome, dict[str, bytes]]:
        if self._function is None:
            try:
                self._function = pickle.loads(self._setup)()
            except Exception as error:
                return Outcome(case=case, error=describe(error), fatal=True), {}
        if (directory.parent.parent / token).exists():
            return attempt(self._function, case, directory), {}
        with tempfile.TemporaryDirectory(prefix="physplan-case-") as scratch:
            outcome = attempt(self._function, case, Path(scratch))
            files = {
                str(path.relative_to(scratch)): path.read_bytes()
                for path in sorted(Path(scratch).rglob("*"))
                if path.is_file()
            }
        return outcome, files


class RayPool:
    def __init__(self, setup: Setup, *, folder: Path, config: EngineConfig, tasks: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError as error:
            raise PhysPlanError(f"--ray needs Ray: {install_command('cluster')}.") from error
        self._ray: Any = ray
        self._setup, self._config = setup, config
        self._owns_ray = not ray.is_initialized()
        if self._owns_ray:
            _connect(ray, config)
        try:
            check_resources(
                [node["Resources"] for node in self._ray.nodes() if node["Alive"]],
                workers=config.workers,
                cpus=config.cpus_per_worker,
                gpus=config.gpus_per_worker,
            )
        except PhysPlanError:
            self._shut_down()
            raise
        self._token = f".shared-{uuid.uuid4().hex}"
        self._mark = folder / self._token
        self._mark.touch()
        self._actors: list[Any] = [self._new_actor() for _ in range(min(config.workers, tasks))]
        self._running: dict[Any, tuple[int, Case, Path]] = {}

    def _new_actor(self) -> Any:
        return (
            self._ray.remote(WarmWorker)
            .options(
                num_cpus=self._config.cpus_per_worker, num_gpus=self._config.gpus_per_worker, max_restarts=0
            )
            .remote(self._ray.cloudpickle.dumps(self._setup), sys.path)
        )

    @property
    def free(self) -> int:
        return len(self._actors) - len(self._running)

    def submit(self, case: Case, directory: Path) -> None:
        busy = {index for index, _, _ in self._running.values()}
        index = next(i for i in range(len(self._actors)) if i not in busy)
        reference = self._actors[index].run.remote(case, directory.resolve(), self._token)
        self._running[reference] = (index, case, directory)

    def wait(self, seconds: float) -> list[Outcome]:
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        return [self._collect(reference) for reference in ready]

    def _collect(self, reference: Any) -> Outcome:
        index, case, directory = self._running.pop(reference)
        try:
            outcome, files = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:  # the worker or its node died
            self._actors[index] = self._new_actor()
            return Outcome(case=case, error=f"its Ray worker died ({type(error).__name__})")
        return _store_files(outcome, files, directory)

    def close(self) -> None:
        self._mark.unlink(missing_ok=True)
        for actor in self._actors:
            self._ray.kill(actor)
        self._shut_down()

    def _shut_down(self) -> None:
        if self._owns_ray:
            self._ray.shutdown()


def _store_files(outcome: Outcome, files: Mapping[str, bytes], directory: Path) -> Outcome:
    try:
        for name, content in files.items():
            write_atomic(directory / name, content)
    except OSError as error:
        return replace(outcome, result=None, error=f"its files could not be written ({error})")
    return outcome


def _connect(ray: Any, config: EngineConfig) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if config.ray == "local":
        options |= {"include_dashboard": False, "object_store_memory": 256 * 2**20}
    try:
        ray.init(address=config.ray or None, **options)
    except Exception as error:  # Ray raises bare exceptions when a start takes too long
        raise PhysPlanError(
            f"No Ray cluster could be reached at {config.ray or 'this machine'} ({error}): give its address, "
            "or --ray local to start one here."
        ) from error


def check_resources(nodes: list[Mapping[str, float]], *, workers: int, cpus: float, gpus: float) -> None:
    """Refuse what the cluster cannot give: Ray itself would wait for it for ever."""
    fits = sum(
        min(
            [10**6]
            + ([int(node.get("CPU", 0) // cpus)] if cpus else [])
            + ([int(node.get("GPU", 0) // gpus)] if gpus else [])
        )
        for node in nodes
    )
    if fits < workers:
        have = {kind: sum(node.get(kind, 0) for node in nodes) for kind in ("CPU", "GPU")}
        raise PhysPlanError(
            f"The Ray cluster has {have['CPU']:g} CPUs and {have['GPU']:g} GPUs on {len(nodes)} node(s); "
            f"that is room for {fits} worker(s) of {cpus:g} CPU and {gpus:g} GPU, not for {workers}: ask for "
            "fewer workers or less per worker."
        )
