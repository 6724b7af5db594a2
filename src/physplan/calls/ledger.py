"""The ledger: one line per attempt to call a model, and the budget that is checked before each.

A line is written before the attempt, at its worst-case price, and another after it. A process that is killed
in between leaves the first alone, so what may have been charged is never forgotten. The file is locked while
a line is checked and added: the budget holds over threads and processes that share it.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, get_args

from filelock import FileLock, Timeout

from physplan.errors import PhysPlanError
from physplan.foreign import inside

LOCK_TIMEOUT = 60.0  # seconds; a line is written in milliseconds
# open: under way, or cut off by a kill; lost: cut off, as was seen when the question was asked again.
Outcome = Literal["open", "answered", "failed", "unknown", "lost"]


class BudgetExceeded(PhysPlanError):
    """The next call was not made: at its worst-case price it could exceed the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One attempt. `usd`: the price paid, the worst case while unknown, None without a price."""

    id: str
    key: str
    purpose: str
    provider: str
    model: str
    attempt: int = 1
    outcome: Outcome = "open"
    usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0
    seconds: float = 0.0
    status: int | None = None
    time: float = 0.0

    def __post_init__(self) -> None:
        """Whatever would make the sum of the entries wrong, or no number at all, is no entry."""
        words = [self.id, self.key, self.purpose, self.provider, self.model]
        amounts = [0 if self.usd is None else self.usd, self.seconds, self.time]
        counts = [self.attempt, self.input_tokens, self.output_tokens, self.images]
        counts += [] if self.status is None else [self.status]
        if not (
            all(isinstance(word, str) for word in words)
            and self.outcome in get_args(Outcome)
            and all(type(n) in (int, float) and 0 <= n < float("inf") for n in amounts)
            and all(type(n) is int and n >= 0 for n in counts)
        ):
            raise PhysPlanError(
                "A ledger takes amounts that are finite and not negative, and whole counts: "
                f"{self.usd!r} USD and {counts!r} are refused."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """`calls` were answered; `retries` are attempts after a call's first; `unpriced` have no known price.

    `cut_off` were asked by a process that was killed before it had the answer: at their worst case.
    """

    calls: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0
    seconds: float = 0.0
    usd: float = 0.0
    unpriced: int = 0
    cut_off: int = 0


class Ledger:
    """Entries in a JSON-lines file, or in memory only when there is no path.

    `total` is the ledger of several runs together: what is written here is written there too, so that its
    budget holds for all of them.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        budget: float | None = None,
        total: Ledger | None = None,
    ) -> None:
        if budget is not None and not 0 <= budget < float("inf"):
            raise PhysPlanError(f"The budget must be an amount in USD, 0 or more, not {budget}.")
        self.path = Path(path) if path is not None else None
        self.budget = budget
        self.total = total
        self._entries: dict[str, Entry] = {}
        self._read_to = 0
        self._lock = threading.Condition()
        self._in_flight: set[str] = set()

    def begin(
        self, *, key: str, purpose: str, provider: str, model: str, attempt: int, worst_usd: float | None
    ) -> Entry:
        """Reserve the worst-case price of an attempt, or raise `BudgetExceeded` without reserving.

        Where only the reservations of calls in flight are in the way, wait: they will cost less.
        """
        entry = Entry(
            id=uuid.uuid4().hex,
            key=key,
            purpose=purpose,
            provider=provider,
            model=model,
            attempt=attempt,
            usd=worst_usd,
            time=round(time.time(), 3),
        )
        self._wait_for(entry)
        if self.total is not None:
            try:
                self.total._wait_for(entry)
            except BaseException:
                self._end(entry, replace(entry, outcome="failed", usd=0.0))
                raise
        return entry

    def _wait_for(self, entry: Entry) -> None:
        with self._lock:
            while not self._reserve(entry):
                self._lock.wait()

    def end(self, entry: Entry, **result: Any) -> Entry:
        """Replace the reservation of `entry` by what happened."""
        ended = replace(entry, **result)
        try:
            return self._end(entry, ended)
        finally:
            if self.total is not None:
                self.total._end(entry, ended)

    def _end(self, entry: Entry, ended: Entry) -> Entry:
        with self._lock:
            try:
                with self._writing() as file:
                    self._write(file, ended)
            finally:  # those that wait must not wait for ever
                self._in_flight.discard(entry.id)
                self._lock.notify_all()
        return ended

    def settle(self, key: str, **result: Any) -> None:
        """Close the attempt whose answer was stored by a process that was killed before it could say so."""
        if left := self._open(key):
            self.end(left[-1], outcome="answered", status=200, **result)

    def abandon(self, key: str) -> None:
        """The question is asked again: the process that asked it before was killed without an answer."""
        for entry in self._open(key):
            self.end(entry, outcome="lost")

    def resume(self, key: str) -> Entry | None:
        """The attempt whose job is still under way at the server: its reservation stands for the rest too."""
        left = [
            one for one in self.entries() if one.key == key and one.outcome in ("open", "unknown", "lost")
        ]
        return left[-1] if left else None

    def _open(self, key: str) -> list[Entry]:
        return [entry for entry in self.entries() if entry.key == key and entry.outcome == "open"]

    def entries(self) -> tuple[Entry, ...]:
        with self._lock:
            if self.path is not None and self.path.exists():
                self._require_file()
                with self.path.open("rb") as file:  # without the lock: only complete lines are read
                    self._read_new(file)
            return tuple(self._entries.values())

    def totals(self) -> Totals:
        return total(self.entries())

    def _reserve(self, entry: Entry) -> bool:
        with self._writing() as file:
            if self.budget is not None and not self._fits(entry, self.budget):
                return False
            self._write(file, entry)
        self._in_flight.add(entry.id)
        return True

    def _fits(self, entry: Entry, budget: float) -> bool:
        """Whether it fits now; False when it may fit once calls in flight have ended; else an error."""
        if entry.usd is None:
            raise BudgetExceeded(
                f"No price is known for the model {entry.model}, so the budget cannot be kept: add the model "
                "to a price table (--set runtime.prices=FILE), or leave out the budget."
            )
        committed = sum(known.usd or 0.0 for known in self._entries.values())
        in_flight = sum(self._entries[id].usd or 0.0 for id in self._in_flight)
        room = budget + 1e-12 - entry.usd
        if committed > room and (not self._in_flight or committed - in_flight > room):
            raise BudgetExceeded(
                f"The budget of {budget:.4f} USD stops before the next call ({entry.purpose}): "
                f"{committed:.4f} USD are spent or reserved and it could cost up to {entry.usd:.4f} USD. "
                "All answers so far are stored; raise the budget and run it again to continue."
            )
        return committed <= room

    def _write(self, file: IO[bytes] | None, entry: Entry) -> None:
        self._entries[entry.id] = entry
        if file is not None:
            # A line that a kill cut off is ended first, and is no entry.
            cut_off = file.seek(0, os.SEEK_END) > self._read_to
            line = json.dumps({name: getattr(entry, name) for name in Entry.__slots__}).encode()
            file.write(b"\n" * cut_off + line + b"\n")
            file.flush()
            if entry.outcome == "open":
                os.fsync(file.fileno())  # before the call: a loss of power must not forget it
            self._read_to = file.tell()

    @contextmanager
    def _writing(self) -> Iterator[IO[bytes] | None]:
        with self._lock:
            if self.path is None:
                yield None
                return
            try:
                self._require_file()
                self.path.parent.mkdir(parents=True, exist_ok=True)
                lock = self.path.with_name(f"{self.path.name}.lock")
                with FileLock(lock, timeout=LOCK_TIMEOUT, poll_interval=0.005), self.path.open("a+b") as file:
                    self._read_new(file)
                    yield file
            except Timeout:
                raise PhysPlanError(f"Another process holds the ledger {self.path}: end it.") from None
            except OSError as error:
                raise PhysPlanError(f"The ledger {self.path} cannot be written: {error.strerror}.") from None

    def _require_file(self) -> None:
        """In an untrusted folder it may be a link to a file of the user's, or a pipe that never ends."""
        assert self.path is not None
        path = inside(self.path.parent, self.path.name)
        if path.exists() and not path.is_file():
            raise PhysPlanError(f"The ledger {path} is not a file: move it away.")

    def _read_new(self, file: IO[bytes]) -> None:
        """Take in the complete lines that other processes have added."""
        file.seek(self._read_to)
        complete, newline, _ = file.read().rpartition(b"\n")
        for line in complete.splitlines():
            if not line.endswith(b"}"):
                continue  # cut off by a kill; what it would have said is in the line before the attempt
            try:
                entry = Entry(**json.loads(line))
            except (TypeError, ValueError, RecursionError, PhysPlanError):
                raise PhysPlanError(
                    f"The ledger {self.path} has a line that is no entry of this version ({line[:60]!r}):"
                    " move the file away to start a new one; what it counted is not counted then."
                ) from None
            self._entries[entry.id] = entry
        self._read_to += len(complete) + len(newline)


def total(entries: tuple[Entry, ...]) -> Totals:
    answered = [entry for entry in entries if entry.outcome == "answered"]
    return Totals(
        calls=len(answered),
        retries=sum(entry.attempt > 1 for entry in entries),
        input_tokens=sum(entry.input_tokens for entry in answered),
        output_tokens=sum(entry.output_tokens for entry in answered),
        images=sum(entry.images for entry in answered),
        seconds=round(sum(entry.seconds for entry in entries), 3),
        usd=round(sum(entry.usd or 0.0 for entry in entries), 6),
        unpriced=sum(entry.usd is None for entry in answered),
        cut_off=sum(entry.outcome in ("open", "lost") for entry in entries),
    )
