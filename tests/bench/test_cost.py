"""Cost tables from run folders with real ledgers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from physplan.calls.ledger import Ledger
from physplan.errors import PhysPlanError
from physplan.runs import RunFolder
from physplan_bench.cost import call_table, growth, read_runs, stage_table, total_table


def write_run(folder: Path, *, method: str, events: int, calls: int) -> None:
    folder.mkdir(parents=True)
    seconds = {"plan": 2.0 + events, "latents": 10.0 * events, "video": 0.0}
    memory = {"plan": None, "latents": 500_000_000 * events, "video": 1_000_000_000}
    for stage, taken in seconds.items():
        RunFolder(folder).finish(stage, "k", [], seconds=taken, made_from={}, peak_memory_bytes=memory[stage])
    inputs = {"prompt": "it melts", "method": method, "seed": 0}
    about = {"inputs": inputs, "identity": {}, "versions": {"physplan": "0"}}
    (folder / "run.json").write_text(json.dumps(about))
    (folder / "plan.json").write_text(json.dumps({"events": [{}] * events}))
    (folder / "config.yaml").write_text(
        "reasoner: {name: paper, model: m}\nvideo: {model: cogvideox-5b}\nruntime: {device: cuda}\n"
    )
    ledger = Ledger(folder / "calls" / "ledger.jsonl")
    for i in range(calls):
        purpose = "edits" if i else "scene"
        entry = ledger.begin(key=str(i), purpose=purpose, provider="p", model="m", attempt=1, worst_usd=1.0)
        if i == calls - 1:  # a failed attempt, paid for, then the retry
            ledger.end(entry, outcome="failed", usd=0.01, status=500)
            entry = ledger.begin(
                key=str(i), purpose=purpose, provider="p", model="m", attempt=2, worst_usd=1.0
            )
        ledger.end(entry, outcome="answered", usd=0.02, input_tokens=1000, output_tokens=100, seconds=0.5)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_run(tmp_path / "a", method="physplan", events=3, calls=4)
    write_run(tmp_path / "b", method="physplan", events=5, calls=6)
    write_run(tmp_path / "c", method="base", events=3, calls=0)
    return tmp_path


def cells(table, label: str) -> tuple:
    return next(row.cells for row in table.rows if row.label.startswith(label))


def test_times_are_means_over_runs(runs: Path) -> None:
    table = stage_table(read_runs([runs]))
    assert cells(table, "Reasoning") == ("m", pytest.approx((5 + 7 + 5) / 3), None)
    assert cells(table, "Guided sampling")[::2] == ("cogvideox-5b", pytest.approx(2.5))
    assert cells(table, "Total") == ("", pytest.approx((35 + 57 + 35) / 3), pytest.approx(2.5))


def test_a_guided_run_has_the_papers_seven_stages(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    write_run(folder, method="physplan", events=3, calls=0)
    times = {"previews": 4.0, "backpropagation": 20.0, "sampling": 5.0}
    (folder / "times.json").write_text(json.dumps(times))
    for stage, seconds in (("keyframes", 9.0), ("evidence", 3.0), ("video", 2.0)):
        RunFolder(folder).finish(stage, "k", [], seconds=seconds, made_from={}, peak_memory_bytes=None)
    ledger = Ledger(folder / "calls" / "ledger.jsonl")
    for purpose, seconds in (("parse", 1.0), ("decompose", 2.0), ("translate", 1.0)):
        entry = ledger.begin(key=purpose, purpose=purpose, provider="p", model="m", attempt=1, worst_usd=1.0)
        ledger.end(entry, outcome="answered", usd=0.02, seconds=seconds)
    table = stage_table(read_runs([tmp_path]))
    assert {row.label: round(row.cells[1], 2) for row in table.rows} == {
        "Scene parsing and decomposition": 3.75,
        "Delta translation and checks": 1.25,
        "Keyframe rendering and checks": 9.0,
        "Masks and depth": 3.0,
        "Preview decoding": 4.0,
        "Measurement and backpropagation": 20.0,
        "Sampling and final decoding": 6.0 + 2.0,
        "Total": 49.0,
    }


def test_calls_are_counted_once_and_retries_are_paid(runs: Path) -> None:
    table = call_table(read_runs([runs / "a"]))
    assert cells(table, "scene") == (1, 1000, 100, 0, pytest.approx(0.02))
    assert cells(table, "edits") == (3, 3000, 300, 0, pytest.approx(0.07))
    assert cells(table, "Total") == (4, 4000, 400, 0, pytest.approx(0.09))


def test_totals_are_per_method_and_number_of_events(runs: Path) -> None:
    table = total_table(read_runs([runs]))
    assert [row.label for row in table.rows] == [
        "base, K = 3 (n = 1)",
        "physplan, K = 3 (n = 1)",
        "physplan, K = 5 (n = 1)",
    ]
    assert cells(table, "physplan, K = 5") == (pytest.approx(57), pytest.approx(2.5), pytest.approx(0.13))
    assert cells(table, "base")[2] is None
    assert "physplan: +11.0 s, +0.50 GB, +0.020 USD per further event" in table.note
    assert "Memory is the highest of the GPU." in table.note


def test_growth_is_the_slope_over_the_events(runs: Path) -> None:
    found = growth([run for run in read_runs([runs]) if run.method == "physplan"])
    assert found.seconds == pytest.approx(11)
    assert found.gb == pytest.approx(0.5)
    assert found.usd == pytest.approx(0.02)


def test_the_command_prints_our_tables_beside_the_papers(runs: Path, evaluate_command) -> None:
    code, out, _ = evaluate_command("cost", runs, "--reported")
    assert code == 0
    assert "Runtime per stage (3 runs, K = 3, 5)" in out
    assert "366.0" in out
    assert "reported" in out
    code, out, _ = evaluate_command("cost", runs, "--json")
    assert json.loads(out)["provenance"]["settings"] == {"runs": 3}


def test_folders_without_runs_and_broken_files_are_refused(tmp_path: Path, evaluate_command) -> None:
    code, _, err = evaluate_command("cost", tmp_path)
    assert code == 2
    assert "no finished run" in err
    write_run(tmp_path / "a", method="x", events=2, calls=0)
    (tmp_path / "a" / "run.json").write_text("{}")
    with pytest.raises(PhysPlanError, match="is not of a PhysPlan run"):
        read_runs([tmp_path])
