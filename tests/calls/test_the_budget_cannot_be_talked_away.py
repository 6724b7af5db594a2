"""Whatever a server says it counted, the ledger is never below what was charged."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from physplan.calls.gateway import CallPolicy, Gateway
from physplan.calls.ledger import BudgetExceeded, Entry, Ledger
from physplan.calls.prices import PriceTable
from physplan.calls.protocol import CallFault, Request
from physplan.calls.secrets import Secret
from physplan.errors import PhysPlanError
from physplan_models.clients.gemini import GeminiClient
from physplan_models.clients.openai import OpenAIClient
from physplan_models.clients.usage import MOST_TOKENS, read_usage
from physplan_testing.loopback import Answer, GeminiServer, Loopback, OpenAIServer
from physplan_testing.sites import MODEL, QUICK, MakeSite

ASK = Request(purpose="test", model=MODEL, text="what is this?", system="be brief")
PRICE = PriceTable.load().find(MODEL)
assert PRICE is not None
WORST = PRICE.worst_case(ASK)
HOSTILE: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.integers(),
    st.integers(0, 20_000),
    st.just(10**400),
    st.floats(),
    st.text(max_size=5),
    st.booleans(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
NAMES = {
    "gemini": ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"),
    "openai": ("prompt_tokens", "completion_tokens", "total_tokens"),
}
USAGE = st.one_of(
    HOSTILE, st.fixed_dictionaries({}, optional=dict.fromkeys(sum(NAMES.values(), ()), HOSTILE))
)


class Sites:
    """One server of each kind for all examples; `body` is what it sends next."""

    def __init__(self, stack: ExitStack) -> None:
        self.body = b""
        self.servers: dict[str, Loopback] = {
            "gemini": stack.enter_context(GeminiServer(lambda asked: Answer(raw=self.body))),
            "openai": stack.enter_context(OpenAIServer(lambda asked: Answer(raw=self.body))),
        }
        self.clients = {
            "gemini": GeminiClient(Secret("test-key"), base_url=self.servers["gemini"].url),
            "openai": OpenAIClient(Secret("test-key"), base_url=self.servers["openai"].url),
        }

    def answer(self, provider: str, usage: Any, *, text: str = "yes", finish: str = "STOP") -> None:
        value = self.servers[provider].encode(Answer(text=text))
        value["usageMetadata" if provider == "gemini" else "usage"] = usage
        if provider == "gemini":
            value["candidates"][0]["finishReason"] = finish
        self.body = json.dumps(value).encode()


@pytest.fixture(scope="module")
def sites() -> Iterator[Sites]:
    with ExitStack() as stack:
        yield Sites(stack)


def believable(provider: str, usage: Any, text: str) -> float | None:
    """The price of a usage that can be true, written down a second time and without the code under test."""
    if not isinstance(usage, dict):
        return None
    taken, given, *more = (usage.get(name) for name in NAMES[provider])
    total = more.pop()
    left_out = [0 if n is None else n for n in (given, *more)]  # which Gemini does; 0.0 is no count
    counts = [taken, given] if provider == "openai" else [taken, *left_out]
    counts += [] if total is None else [total]
    if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= MOST_TOKENS for n in counts):
        return None
    output = max(sum(counts[1 : 2 + len(more)]), (total or 0) - taken)
    if taken == 0 or (text and output == 0) or (total is not None and total < taken + counts[1]):
        return None
    return (taken * PRICE.input + output * PRICE.output) / 1e6


@pytest.mark.parametrize("provider", ["gemini", "openai"])
@settings(max_examples=150, deadline=None)
@given(
    usage=USAGE, text=st.sampled_from(["yes", ""]), finish=st.sampled_from(["STOP", "SAFETY", "MAX_TOKENS"])
)
def test_the_ledger_is_never_below_the_truth(
    sites: Sites, provider: str, usage: Any, text: str, finish: str
) -> None:
    sites.answer(provider, usage, text=text, finish=finish)
    gateway = Gateway(sites.clients[provider], policy=CallPolicy(timeout=30, attempts=1))
    with suppress(CallFault):
        gateway.ask(ASK)
    [entry] = gateway.ledger.entries()
    truth = believable(provider, usage, text)
    assert entry.usd is not None
    assert math.isfinite(entry.usd)
    assert entry.usd >= (WORST if truth is None else truth) * (1 - 1e-9)
    assert entry.outcome in ("answered", "unknown")


@pytest.mark.parametrize(
    "usage",
    [None, {}, [], "many", {"prompt_tokens": -(10**9), "completion_tokens": -(10**9)}]
    + [
        {"prompt_tokens": n, "completion_tokens": n}
        for n in (math.nan, math.inf, "7", 0, 10**400, 1.0, 1.5, True)
    ],
)
def test_a_budget_holds_against_a_server_that_says_nothing_true(sites: Sites, usage: Any) -> None:
    sites.answer("openai", usage)
    ledger = Ledger(budget=2.5 * WORST)
    gateway = Gateway(sites.clients["openai"], ledger=ledger, policy=QUICK)
    before = len(sites.servers["openai"].asked)
    for number in range(2):
        gateway.ask(replace(ASK, text=f"what is {number:04}?"))
    with pytest.raises(BudgetExceeded):
        gateway.ask(replace(ASK, text="what is left?"))
    assert len(sites.servers["openai"].asked) - before == 2
    assert ledger.totals().usd == pytest.approx(2 * WORST, rel=1e-3)


@pytest.mark.parametrize("finish", ["SAFETY", "RECITATION", "STOP"])
def test_an_answer_without_text_is_paid_for(sites: Sites, finish: str) -> None:
    usage = {"promptTokenCount": 1000, "totalTokenCount": 1000}
    for said, usd in ((usage, 1000 * PRICE.input / 1e6), (None, WORST)):
        sites.answer("gemini", said, text="", finish=finish)
        gateway = Gateway(sites.clients["gemini"], policy=QUICK)
        if finish == "STOP":
            assert gateway.ask(ASK).reply.text == ""
        else:
            with pytest.raises(CallFault, match=finish):
                gateway.ask(ASK)
        assert gateway.ledger.totals().usd == pytest.approx(usd, abs=1e-6)


def test_a_blocked_prompt_is_paid_for(gemini_site: MakeSite) -> None:
    gateway = gemini_site(lambda asked: Answer(finish="refused")).gateway()
    with pytest.raises(CallFault, match="PROHIBITED_CONTENT"):
        gateway.ask(ASK)
    assert gateway.ledger.totals().usd == pytest.approx(WORST, abs=1e-6)


def test_pictures_that_were_not_drawn_do_not_make_the_text_free() -> None:
    asked = {"taken": 10, "given": 500, "drawn": 500, "answered": True}
    assert read_usage(**asked, images=0) is not None
    assert read_usage(**asked, images=0).output_tokens == 500  # type: ignore[union-attr]
    assert read_usage(**asked, images=1) is None, "there is text, which took no tokens"
    assert read_usage(**{**asked, "drawn": 501, "answered": False}, images=1) is None


def test_what_a_total_adds_is_priced_as_output() -> None:
    """Some servers leave thinking out of their parts and in their total."""
    found = read_usage(taken=100, given=20, total=1000, answered=True)
    assert found is not None
    assert found.output_tokens == 900


@pytest.mark.parametrize("total", [0, 1, 119])
def test_a_total_below_its_parts_is_not_believed(total: int) -> None:
    assert read_usage(taken=100, given=20, total=total, answered=True) is None


@pytest.mark.parametrize("total", [120, 150])
def test_a_total_may_hold_the_thinking_once_or_twice(total: int) -> None:
    """With `given` (the thinking is in it already) or beside it; the ledger counts it beside it."""
    found = read_usage(taken=100, given=20, thought=30, total=total, answered=True)
    assert found is not None
    assert found.output_tokens == 50


@pytest.mark.parametrize("name", NAMES["gemini"])
@pytest.mark.parametrize("lie", [True, "1000", 1.5])
def test_what_the_sdk_would_take_for_a_number_costs_the_worst_case(sites: Sites, name: str, lie: Any) -> None:
    counts = dict(zip(NAMES["gemini"], (1000, 20, 30, 1050), strict=True))
    sites.answer("gemini", {**counts, name: lie})
    gateway = Gateway(sites.clients["gemini"], policy=CallPolicy(timeout=30, attempts=1))
    with suppress(CallFault):
        gateway.ask(ASK)
    assert gateway.ledger.totals().usd == pytest.approx(WORST, abs=1e-6)


@pytest.mark.parametrize("usd", [math.nan, math.inf, -0.01, "1", True])
def test_the_ledger_refuses_what_is_no_amount(tmp_path: Path, usd: Any) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    about = {"key": "k", "purpose": "p", "provider": "g", "model": MODEL, "attempt": 1}
    with pytest.raises(PhysPlanError, match="finite and not negative"):
        ledger.begin(**about, worst_usd=usd)
    entry = ledger.begin(**about, worst_usd=1.0)
    with pytest.raises(PhysPlanError, match="finite and not negative"):
        ledger.end(entry, outcome="answered", usd=usd)
    assert Ledger(path).totals().usd == 1.0, "the reservation stands"
    line = json.loads(path.read_text())
    path.write_text(json.dumps({**line, "usd": usd}) + "\n")
    with pytest.raises(PhysPlanError, match="no entry of this version"):
        Ledger(path).totals()


@pytest.mark.parametrize(
    "change", [{"input_tokens": -5}, {"outcome": "free"}, {"seconds": math.nan}, {"id": 3}]
)
def test_an_entry_is_checked_whole(change: dict[str, Any]) -> None:
    about: dict[str, Any] = {"id": "i", "key": "k", "purpose": "p", "provider": "g", "model": "m"}
    with pytest.raises(PhysPlanError):
        Entry(**{**about, **change})
