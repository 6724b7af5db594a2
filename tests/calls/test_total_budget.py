"""One budget for several runs: each has its ledger, and all write into one that holds the total."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from physplan.calls.ledger import BudgetExceeded, Ledger
from physplan.calls.settings import CallSettings, connect
from physplan.errors import PhysPlanError

CALL = {"key": "k", "purpose": "test", "provider": "gemini", "model": "m", "attempt": 1}


def ledgers(folder: Path, budget: float | None) -> list[Ledger]:
    return [
        Ledger(folder / f"{name}.jsonl", total=Ledger(folder / "all.jsonl", budget=budget)) for name in "ab"
    ]


def test_what_one_run_spends_another_has_no_longer(tmp_path: Path) -> None:
    one, two = ledgers(tmp_path, budget=1.0)
    one.end(one.begin(**CALL, worst_usd=0.9), outcome="answered", usd=0.5)
    with pytest.raises(
        BudgetExceeded, match=r"0\.5000 USD are spent or reserved and it could cost up to 0\.6"
    ):
        two.begin(**CALL, worst_usd=0.6)
    two.end(two.begin(**CALL, worst_usd=0.5), outcome="answered", usd=0.2)
    assert (one.totals().usd, two.totals().usd) == (0.5, 0.2)
    assert Ledger(tmp_path / "all.jsonl").totals().usd == 0.7
    assert [entry.outcome for entry in two.entries()] == ["failed", "answered"]  # the refused one is free


def test_a_run_that_was_killed_counts_at_its_worst_case_until_it_is_settled(tmp_path: Path) -> None:
    one, two = ledgers(tmp_path, budget=1.0)
    one.begin(**CALL, worst_usd=0.8)  # and then it was killed
    with pytest.raises(BudgetExceeded):
        two.begin(**CALL, worst_usd=0.3)
    again, two = ledgers(tmp_path, budget=1.0)
    again.settle("k", usd=0.1)  # its answer had been stored
    two.begin(**CALL, worst_usd=0.3)
    assert Ledger(tmp_path / "all.jsonl").totals().usd == pytest.approx(0.4)


def spend(folder: Path, name: str) -> None:
    ledger = Ledger(folder / f"{name}.jsonl", total=Ledger(folder / "all.jsonl", budget=1.0))
    for _ in range(20):
        try:
            entry = ledger.begin(**CALL, worst_usd=0.1)
        except BudgetExceeded:
            continue
        ledger.end(entry, outcome="answered", usd=0.09)


def test_the_total_holds_over_processes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=spend, args=(tmp_path, name)) for name in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    spent = Ledger(tmp_path / "all.jsonl").totals().usd
    assert 0.9 < spent <= 1.0
    assert spent == pytest.approx(sum(Ledger(tmp_path / f"{name}.jsonl").totals().usd for name in "abc"))


def test_a_total_without_a_ledger_to_share_is_refused() -> None:
    with pytest.raises(PhysPlanError, match="needs the ledger that they share"):
        connect("gemini", CallSettings(offline=True, total_budget=1.0))
