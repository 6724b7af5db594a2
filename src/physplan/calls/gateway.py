"""The one way to a paid model: stored answers first, then the budget, the call with its retries, the store.

Used for text (planning) and for images (keyframes) alike.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from physplan.calls.ledger import Ledger
from physplan.calls.prices import FREE, Price, PriceTable
from physplan.calls.protocol import CallFault, Client, Reply, Request, Usage
from physplan.calls.store import AnswerStore, request_key
from physplan.errors import PhysPlanError

MOST_TEXT = 4_000_000
MOST_IMAGES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """Time limit per attempt, attempts per call, waits between them, and how many attempts run at once."""

    timeout: float = 120.0
    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    at_once: int = 4

    def __post_init__(self) -> None:
        if not (0 < self.timeout <= 86_400 and 0 <= self.first_wait <= self.longest_wait <= 86_400):
            raise PhysPlanError("A call's time limit and waits are seconds, above 0 and at most a day.")
        if not (1 <= self.attempts <= 100 and 1 <= self.at_once <= 1000):
            raise PhysPlanError("A call takes 1 to 100 attempts, and 1 to 1000 calls can run at once.")

    @property
    def patience(self) -> float:
        """The longest that all attempts of one call can take: as long is another process waited for."""
        return self.attempts * (self.timeout + self.longest_wait)

    def wait(self, attempt: int, fault: CallFault) -> float:
        """Seconds before the next attempt: what the server asks for, else exponential with jitter."""
        if fault.retry_after is not None:
            return fault.retry_after
        longest = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        return longest * random.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """Callback data of one answer: where it is stored, and whether it came from the store."""

    key: str
    request: Request
    reply: Reply
    stored: bool
    seconds: float


class Gateway:
    def __init__(
        self,
        client: Client,
        *,
        store: AnswerStore | None = None,
        ledger: Ledger | None = None,
        prices: PriceTable | None = None,
        policy: CallPolicy | None = None,
        on_call: Callable[[CallRecord], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.client = client
        self.store = store
        self.ledger = ledger or Ledger()
        self.prices = prices or PriceTable.load()
        self.policy = policy or CallPolicy()
        self.on_call = on_call
        self._sleep = sleep
        self._slots = threading.BoundedSemaphore(self.policy.at_once)

    def ask(self, request: Request) -> CallRecord:
        """The answer to `request`: from the store, else from the model, and stored before it is returned."""
        key = request_key(self.client.provider, request)
        started = time.perf_counter()
        reply, stored = self._stored(key), True
        if reply is None:
            reply, stored = self._ask_once(key, request)
        seconds = time.perf_counter() - started
        record = CallRecord(key=key, request=request, reply=reply, stored=stored, seconds=seconds)
        if self.on_call:
            self.on_call(record)
        return record

    def _ask_once(self, key: str, request: Request) -> tuple[Reply, bool]:
        """The answer, and whether another thread or process got it while this one waited for its turn."""
        if self.store is None:
            return self._call(key, request), False
        with self.store.asking(key, patience=self.policy.patience):
            if reply := self._stored(key):
                return reply, True
            if not self._under_way(key):
                self.ledger.abandon(key)
            self.store.keep(request.images)
            return self._call(key, request), False

    def _stored(self, key: str) -> Reply | None:
        found = self.store.get(key) if self.store else None
        if found is None:
            return None
        reply, cost = found
        self.ledger.settle(key, **cost, **_counts(reply.usage))
        return reply

    def _call(self, key: str, request: Request) -> Reply:
        self.client.ready()
        price = self.prices.find(request.model) or (FREE if self.client.local else None)
        worst = price.worst_case(request) if price else None
        for attempt in range(1, self.policy.attempts + 1):
            try:
                return self._attempt(key, request, attempt, price, worst)
            except CallFault as fault:
                last = attempt == self.policy.attempts
                if last or not fault.retryable:
                    raise CallFault(
                        f"{fault}" + (f" Given up after {attempt} attempts." if attempt > 1 else ""),
                        status=fault.status,
                    ) from None
                wait = self.policy.wait(attempt, fault)
                if wait > self.policy.longest_wait:
                    raise CallFault(
                        f"{fault} The server asks to wait {wait:.0f} s, longer than the limit of "
                        f"{self.policy.longest_wait:.0f} s: run it again later.",
                        status=fault.status,
                    ) from None
                self._sleep(wait)
        raise AssertionError("unreachable")

    def _attempt(
        self, key: str, request: Request, attempt: int, price: Price | None, worst: float | None
    ) -> Reply:
        with self._slots:
            entry = (self.ledger.resume(key) if self._under_way(key) else None) or self.ledger.begin(
                key=key,
                purpose=request.purpose,
                provider=self.client.provider,
                model=request.model,
                attempt=attempt,
                worst_usd=worst,
            )
            started = time.perf_counter()
            try:
                reply = _within(
                    self.policy.timeout, lambda: self.client.complete(request, timeout=self.policy.timeout)
                )
                seconds = round(time.perf_counter() - started, 3)
                reply = replace(reply, text=reply.text.encode("utf-8", "replace").decode())
                usd = _usd(price, reply.usage, request, worst)
                _check(reply)
                if self.store:
                    cost = {"usd": usd, "prices": self.prices.dated, "seconds": seconds, "attempts": attempt}
                    self.store.put(key, self.client.provider, request, reply, cost)
            except BaseException as fault:
                billable = not isinstance(fault, CallFault) or fault.billable
                usage = getattr(fault, "usage", None)
                self.ledger.end(
                    entry,
                    outcome="unknown" if billable else "failed",
                    usd=_usd(price, usage, request, worst) if billable else 0.0,
                    seconds=round(time.perf_counter() - started, 3),
                    status=getattr(fault, "status", None),
                    **_counts(usage),
                )
                raise
        self.ledger.end(
            entry, outcome="answered", usd=usd, seconds=seconds, status=200, **_counts(reply.usage)
        )
        return reply

    def _under_way(self, key: str) -> bool:
        """Whether the client has submitted this request before, and can resume it."""
        holds: Callable[[str], bool] | None = getattr(self.client, "holds", None)
        return holds is not None and holds(key)


def _usd(price: Price | None, usage: Usage | None, request: Request, worst: float | None) -> float | None:
    """What is charged by the server's own count; the reserved worst case where that is not to be believed."""
    if price is None or usage is None:
        return worst
    return price.cost(usage, size=request.options.get("image_size", "1K"))


def _counts(usage: Usage | None) -> dict[str, int]:
    return asdict(usage) if usage else {}


def _check(reply: Reply) -> None:
    if len(reply.text) > MOST_TEXT or len(reply.images) > MOST_IMAGES:
        raise CallFault(
            f"The answer has more than {MOST_TEXT} characters or {MOST_IMAGES} pictures: it is not stored.",
            status=200,
            billable=True,
            usage=reply.usage,
        )


def _within(seconds: float, action: Callable[[], Reply]) -> Reply:
    """`action`'s result, or a fault when all of it takes longer: an SDK's limit is per read, not per call."""
    done = threading.Event()
    outcome: list[Reply | BaseException] = []

    def run() -> None:
        try:
            outcome.append(action())
        except BaseException as error:
            outcome.append(error)
        done.set()

    threading.Thread(target=run, daemon=True, name="physplan-call").start()
    # A little longer than the SDK's own limit, which ends the connection as well.
    if not done.wait(seconds + 0.5):
        raise CallFault(f"No complete answer within {seconds:g} s.", retryable=True, billable=True)
    result = outcome[0]
    if isinstance(result, Reply):
        return result
    if isinstance(result, PhysPlanError):
        raise result
    raise CallFault(f"The client failed with {type(result).__name__}.", billable=True) from None
