"""The engine: does every case of a list exactly once, on this process, on several, or on a Ray cluster.

The driver claims a case, hands it to a worker, and writes the result itself, so all ways of running share
this one loop and give the same files. A worker is made by `setup()`, which loads what is heavy, once, and
returns the function that does a case: `function(case, directory) -> JSON-able mapping`. `directory` is the
case's own folder, for videos and the like; the result counts only once the mapping is returned and stored.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from physplan.errors import PhysPlanError
from physplan.graph.errors import GraphError
from physplan_bench.cases import Case, CaseStore, Claim, check_unique, shard

CaseFunction = Callable[[Case, Path], Mapping[str, Any]]
Setup = Callable[[], CaseFunction]


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """How to run, never what comes out: no field here is part of a case's identity."""

    workers: int = 1
    ray: str | None = None  # None: no Ray; "": find or start a cluster; otherwise its address
    shard: str | None = None
    retries: int = 2  # further attempts after a worker died or a case raised
    cpus_per_worker: float = 1
    gpus_per_worker: float = 0
    poll_seconds: float = 0.2
    case_seconds: float | None = None  # a worker process that takes longer for one case is replaced
    silent_seconds: float = 300  # as is one that shows no sign of life for so long: stopped, or hung

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise PhysPlanError(f"--workers {self.workers}: give at least one worker.")
        if self.case_seconds is not None and not self.case_seconds > 0:
            raise PhysPlanError(f"--case-seconds {self.case_seconds}: give a number of seconds above 0.")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one attempt at a case."""

    case: Case
    result: Mapping[str, Any] | None = None
    seconds: float = 0.0
    error: str | None = None
    worth_retrying: bool = True
    fatal: bool = False  # the worker cannot be set up: no case can succeed


class Pool(Protocol):
    """Workers that do one case each at a time."""

    @property
    def free(self) -> int: ...

    def submit(self, case: Case, directory: Path) -> None: ...

    def wait(self, seconds: float) -> list[Outcome]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Progress:
    done: int
    total: int
    failed: int
    running: int
    elsewhere: int  # claimed by other processes on the same folder
    seconds: float

    def __str__(self) -> str:
        parts = [f"{self.done}/{self.total} cases"]
        parts += [f"{self.running} running"] if self.running else []
        parts += [f"{self.elsewhere} with another process"] if self.elsewhere else []
        parts += [f"{self.failed} failed"] if self.failed else []
        return ", ".join(parts)


@dataclass(kw_only=True)
class RunReport:
    """All results of the cases asked for, by case name, and what could not be done."""

    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    computed: list[str] = field(default_factory=list)  # done by this very run
    attempts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def require_complete(self) -> None:
        if self.failures:
            name, reason = next(iter(self.failures.items()))
            raise PhysPlanError(
                f"{len(self.failures)} of {len(self.failures) + len(self.results)} cases failed, the first, "
                f"{name}, with: {reason.rstrip('.')}. The others are stored; run the same command "
                "again to do only what is missing."
            )


def run_cases(
    cases: Sequence[Case],
    setup: Setup,
    folder: Path,
    *,
    config: EngineConfig | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> RunReport:
    """Do what is missing in `folder`, and return the results of all cases (of this shard)."""
    config = config or EngineConfig()
    check_unique(cases)
    store = CaseStore(Path(folder))
    store.write_manifest(cases)
    wanted = shard(cases, config.shard) if config.shard else list(cases)
    driver = _Driver(store=store, wanted=wanted, config=config, progress=progress)
    missing = [case for case in wanted if store.result(case) is None]
    if missing:
        pool = _open_pool(setup, store, config, tasks=len(missing))
        try:
            driver.run(pool, missing)
        finally:
            driver.release_all()
            pool.close()
    return driver.finish()


def _open_pool(setup: Setup, store: CaseStore, config: EngineConfig, *, tasks: int) -> Pool:
    if config.ray is not None:
        from physplan_bench.cluster import RayPool

        return RayPool(setup, folder=store.folder, config=config, tasks=tasks)
    if config.workers > 1:
        from physplan_bench.workers import ProcessPool

        return ProcessPool(setup, workers=min(config.workers, tasks), config=config)
    return SerialPool(setup)


class _Driver:
    def __init__(
        self,
        *,
        store: CaseStore,
        wanted: Sequence[Case],
        config: EngineConfig,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.store, self.wanted, self.config, self.progress = store, wanted, config, progress
        self.report = RunReport()
        self.claims: dict[str, Claim] = {}
        self.started = time.monotonic()
        self.done = sum(store.result(case) is not None for case in wanted)

    def run(self, pool: Pool, missing: Sequence[Case]) -> None:
        pending, elsewhere = deque(missing), deque[Case]()
        self._tell(0)
        while pending or elsewhere or self.claims:
            while pending and pool.free:
                case = pending.popleft()
                try:
                    if not self._start(pool, case):
                        elsewhere.append(case)
                except OSError as error:  # no claim could be written: a full disk may recover
                    self.report.attempts[case.name] += 1
                    if self._give_up(case, f"it could not be claimed ({error})"):
                        continue
                    pending.append(case)
                    time.sleep(self.config.poll_seconds)
            if self.claims:
                for outcome in pool.wait(self.config.poll_seconds):
                    if not self._settle(outcome):
                        pending.append(outcome.case)
            elif elsewhere and not pending:
                time.sleep(self.config.poll_seconds)
            self._tell(len(elsewhere))
            if not pending:  # another worker may have finished them, or died: look again
                pending, elsewhere = elsewhere, deque()

    def _start(self, pool: Pool, case: Case) -> bool:
        """Submit the case unless it is done by now (counts as started) or claimed elsewhere (False)."""
        claim = self.store.claim(case)
        if claim is None:
            return False
        if self.store.result(case) is not None:
            claim.release()
            self.done += 1
            return True
        self.claims[case.key] = claim
        self.report.attempts[case.name] += 1
        pool.submit(case, self.store.directory(case))
        return True

    def _settle(self, outcome: Outcome) -> bool:
        """Store a result or give up on a case (True), or ask for another attempt (False)."""
        case, error = outcome.case, outcome.error
        try:
            if outcome.result is not None:
                error = self._save(outcome)
            if error is None:
                self.done += 1
                self.report.computed.append(case.name)
                return True
            if outcome.fatal:
                raise PhysPlanError(f"No worker could be set up: {error}")
            return self._give_up(case, error, at_once=not outcome.worth_retrying)
        finally:
            self.claims.pop(case.key).release()

    def _give_up(self, case: Case, error: str, *, at_once: bool = False) -> bool:
        """Whether the case has failed for good; else it deserves another attempt."""
        if not at_once and self.report.attempts[case.name] <= self.config.retries:
            return False
        self.report.failures[case.name] = error
        return True

    def _save(self, outcome: Outcome) -> str | None:
        """Write the result; a full disk gets time to recover, because the result may have cost an hour."""
        assert outcome.result is not None
        attempts = self.report.attempts[outcome.case.name]
        for pause in (0.0, *(self.config.poll_seconds * 5**k for k in range(self.config.retries))):
            time.sleep(pause)
            try:
                self.store.save(outcome.case, outcome.result, seconds=outcome.seconds, attempts=attempts)
                return None
            except OSError as error:
                reason = f"its result could not be written ({error})"
        return reason

    def _tell(self, elsewhere: int) -> None:
        if self.progress:
            self.progress(
                Progress(
                    done=self.done,
                    total=len(self.wanted),
                    failed=len(self.report.failures),
                    running=len(self.claims),
                    elsewhere=elsewhere,
                    seconds=time.monotonic() - self.started,
                )
            )

    def release_all(self) -> None:
        for claim in self.claims.values():
            claim.release()
        self.claims.clear()

    def finish(self) -> RunReport:
        for case in self.wanted:
            record = self.store.result(case)
            if record is not None:
                self.report.results[case.name] = record["result"]
        self.report.seconds = time.monotonic() - self.started
        return self.report


def attempt(function: CaseFunction, case: Case, directory: Path) -> Outcome:
    """Do one case and turn whatever it raises into an outcome."""
    started = time.perf_counter()
    try:
        result = function(case, directory)
    except (PhysPlanError, GraphError) as error:  # a refusal with a reason: trying again cannot help
        return Outcome(case=case, error=str(error), worth_retrying=False)
    except Exception as error:
        return Outcome(case=case, error=describe(error))
    seconds = time.perf_counter() - started
    try:
        return Outcome(case=case, result=json.loads(json.dumps(result, allow_nan=False)), seconds=seconds)
    except (TypeError, ValueError) as error:
        return Outcome(case=case, error=f"its result is not plain JSON ({error})", worth_retrying=False)


def describe(error: Exception) -> str:
    return str(error) if isinstance(error, PhysPlanError | GraphError) else f"{type(error).__name__}: {error}"


class SerialPool:
    """Cases run one after the other in this process."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._function: CaseFunction | None = None
        self._task: tuple[Case, Path] | None = None

    @property
    def free(self) -> int:
        return int(self._task is None)

    def submit(self, case: Case, directory: Path) -> None:
        self._task = (case, directory)

    def wait(self, seconds: float) -> list[Outcome]:
        assert self._task is not None
        (case, directory), self._task = self._task, None
        if self._function is None:
            self._function = self._setup()
        return [attempt(self._function, case, directory)]

    def close(self) -> None:
        pass
