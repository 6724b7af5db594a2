"""Worker processes on this machine: each stays warm, is replaced when it dies, and dies with its driver."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from physplan.evaluation.cases import Case
from physplan.evaluation.engine import Outcome, Setup, attempt, describe


class _Worker:
    """One process with its pipe, and the case it is doing."""

    def __init__(self, setup: Setup) -> None:
        context = multiprocessing.get_context("spawn")  # a forked torch or Ray would deadlock
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_work, args=(setup, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.case: Case | None = None

    def describe_end(self) -> str:
        self.process.join()
        code = self.process.exitcode or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class ProcessPool:
    def __init__(self, setup: Setup, *, workers: int) -> None:
        self._setup = setup
        self._workers = [_Worker(setup) for _ in range(workers)]

    @property
    def free(self) -> int:
        return sum(worker.case is None for worker in self._workers)

    def submit(self, case: Case, directory: Path) -> None:
        index = next(i for i, worker in enumerate(self._workers) if worker.case is None)
        if not self._workers[index].process.is_alive():
            self._workers[index] = _Worker(self._setup)
        worker = self._workers[index]
        worker.case = case
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
        return outcomes

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill() if worker.case is not None else worker.pipe.close()
        for worker in self._workers:
            worker.process.join(timeout=10)
            worker.process.kill()


def _work(setup: Setup, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    threading.Thread(target=_die_with_parent, daemon=True).start()
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


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
