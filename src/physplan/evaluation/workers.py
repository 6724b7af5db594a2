"""Worker processes on this machine: each stays warm, is replaced when it dies, and dies with its driver."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from physplan.evaluation.cases import Case
from physplan.evaluation.engine import EngineConfig, Outcome, Setup, attempt, describe

BEAT_SECONDS = 0.5


class _Worker:
    """One process with its pipe, and the case it is doing."""

    def __init__(self, setup: Setup) -> None:
        context = multiprocessing.get_context("spawn")  # a forked torch or Ray would deadlock
        self.pipe, theirs = context.Pipe()
        self._beat = context.Value("Q", 0, lock=False)
        self.process: SpawnProcess = context.Process(
            target=_work, args=(setup, theirs, self._beat), daemon=True
        )
        self.process.start()
        theirs.close()
        self.case: Case | None = None
        self.started = self._heard = time.monotonic()
        self._last = 0

    def begin(self, case: Case) -> None:
        self.case = case
        self.started = self._heard = time.monotonic()

    def overdue(self, config: EngineConfig) -> str | None:
        """Why its case is given up, if it is: a stopped process neither ends nor answers."""
        now = time.monotonic()
        if self._beat.value != self._last:
            self._last, self._heard = self._beat.value, now
        if now - self._heard > config.silent_seconds:
            return f"showed no sign of life for {config.silent_seconds:g} s"
        if config.case_seconds is not None and now - self.started > config.case_seconds:
            return f"took longer than {config.case_seconds:g} s"
        return None

    def describe_end(self) -> str:
        self.process.join()
        code = self.process.exitcode or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class ProcessPool:
    def __init__(self, setup: Setup, *, workers: int, config: EngineConfig) -> None:
        self._setup, self._config = setup, config
        self._workers = [_Worker(setup) for _ in range(workers)]

    @property
    def free(self) -> int:
        return sum(worker.case is None for worker in self._workers)

    def submit(self, case: Case, directory: Path) -> None:
        index = next(i for i, worker in enumerate(self._workers) if worker.case is None)
        if not self._workers[index].process.is_alive():
            self._workers[index] = _Worker(self._setup)
        worker = self._workers[index]
        worker.begin(case)
        with contextlib.suppress(
            BrokenPipeError, ConnectionResetError
        ):  # it died just now: `wait` reports it
            worker.pipe.send((case, directory))

    def wait(self, seconds: float) -> list[Outcome]:
        busy = {worker.pipe: worker for worker in self._workers if worker.case is not None}
        outcomes = []
        for pipe in wait(list(busy), timeout=seconds):
            worker = busy[pipe]  # type: ignore[index]
            assert worker.case is not None
            try:
                outcomes.append(worker.pipe.recv())
            except (EOFError, ConnectionResetError):
                outcomes.append(
                    Outcome(case=worker.case, error=f"its worker process was {worker.describe_end()}")
                )
            worker.case = None
        return [*outcomes, *self._give_up()]

    def _give_up(self) -> Iterator[Outcome]:
        for worker in self._workers:
            if worker.case is not None and (why := worker.overdue(self._config)):
                worker.process.kill()  # also ends one that is stopped
                worker.process.join()
                yield Outcome(case=worker.case, error=f"its worker process {why}")
                worker.case = None

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill() if worker.case is not None else worker.pipe.close()
        for worker in self._workers:
            worker.process.join(timeout=10)
            worker.process.kill()


def _work(setup: Setup, pipe: Connection, beat: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    threading.Thread(target=_die_with_parent, daemon=True).start()
    threading.Thread(target=_show_life, args=(beat,), daemon=True).start()
    function = None
    while True:
        try:
            case, directory = pipe.recv()
        except EOFError:
            return
        if function is None:
            try:
                function = setup()
            except Exception as error:
                pipe.send(Outcome(case=case, error=describe(error), fatal=True))
                return
        outcome = attempt(function, case, directory)
        try:
            pipe.send(outcome)
        except (BrokenPipeError, ConnectionResetError):
            return


def _show_life(beat: Any) -> None:
    while True:
        beat.value += 1
        time.sleep(BEAT_SECONDS)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
