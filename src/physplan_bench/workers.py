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
from queue import Empty, Queue
from typing import Any, TypeAlias

from physplan_bench.cases import Case
from physplan_bench.engine import EngineConfig, Outcome, Setup, attempt, describe

BEAT_SECONDS = 0.5
START_SECONDS = 300  # to its first beat: it loads its libraries, on a machine that may be busy
PATIENCE_SECONDS = 10  # with a process that should be about to end
Answers: TypeAlias = "Queue[tuple[_Worker, Outcome | None]]"  # None: it has ended


class _Worker:
    """One process with its pipe, and the case it is doing."""

    def __init__(self, setup: Setup, answers: Answers) -> None:
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
        threading.Thread(target=self._listen, args=(answers,), daemon=True).start()

    def begin(self, case: Case) -> None:
        self.case = case
        self.started = self._heard = time.monotonic()

    def overdue(self, config: EngineConfig) -> str | None:
        """Why its case is given up, if it is: a stopped process neither ends nor answers."""
        now, beat = time.monotonic(), self._beat.value
        if beat != self._last:
            if self._last == 0:  # it has loaded its libraries, which is not the case's time
                self.started = now
            self._last, self._heard = beat, now
        patience = config.silent_seconds if beat else max(config.silent_seconds, START_SECONDS)
        if now - self._heard > patience:
            return f"showed no sign of life for {patience:g} s"
        if beat and config.case_seconds is not None and now - self.started > config.case_seconds:
            return f"took longer than {config.case_seconds:g} s"
        return None

    def _listen(self, answers: Answers) -> None:
        """In a thread of its own: who reads from a process that is stopped in mid-sentence waits for ever."""
        while True:
            try:
                answers.put((self, self.pipe.recv()))
            except Exception:  # it has ended, or said what is no answer
                answers.put((self, None))
                return

    def describe_end(self) -> str:
        self.process.join(timeout=PATIENCE_SECONDS)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class ProcessPool:
    def __init__(self, setup: Setup, *, workers: int, config: EngineConfig) -> None:
        self._setup, self._config = setup, config
        self._answers: Answers = Queue()
        self._workers = [_Worker(setup, self._answers) for _ in range(workers)]

    @property
    def free(self) -> int:
        return sum(worker.case is None for worker in self._workers)

    def submit(self, case: Case, directory: Path) -> None:
        index = next(i for i, worker in enumerate(self._workers) if worker.case is None)
        if not self._workers[index].process.is_alive():
            self._workers[index] = _Worker(self._setup, self._answers)
        worker = self._workers[index]
        worker.begin(case)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it died just now: `wait` says so
            worker.pipe.send((case, directory))

    def wait(self, seconds: float) -> list[Outcome]:
        outcomes = []
        for worker, outcome in self._heard(seconds):
            if worker.case is None:  # it was given up before, or ended without a case
                continue
            if outcome is None:
                outcome = Outcome(case=worker.case, error=f"its worker process was {worker.describe_end()}")
            outcomes.append(outcome)
            worker.case = None
        return [*outcomes, *self._give_up()]

    def _heard(self, seconds: float) -> Iterator[tuple[_Worker, Outcome | None]]:
        with contextlib.suppress(Empty):
            yield self._answers.get(timeout=seconds)
            while True:
                yield self._answers.get_nowait()

    def _give_up(self) -> Iterator[Outcome]:
        for worker in self._workers:
            if worker.case is not None and (why := worker.overdue(self._config)):
                worker.process.kill()  # also ends one that is stopped
                worker.process.join()
                yield Outcome(case=worker.case, error=f"its worker process {why}")
                worker.case = None

    def close(self) -> None:
        for worker in self._workers:
            if worker.case is not None:
                worker.process.kill()
            with contextlib.suppress(OSError):
                worker.pipe.send(None)
        for worker in self._workers:
            worker.process.join(timeout=PATIENCE_SECONDS)
            worker.process.kill()


def _work(setup: Setup, pipe: Connection, beat: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle
    threading.Thread(target=_die_with_parent, daemon=True).start()
    threading.Thread(target=_show_life, args=(beat,), daemon=True).start()
    function = None
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            return
        if asked is None:
            return
        case, directory = asked
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
