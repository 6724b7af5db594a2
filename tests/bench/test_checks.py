"""The table of the deterministic checks: from plans as they are saved, with the paper's row beside it."""

from __future__ import annotations

import json
from pathlib import Path

from physplan.graph import CHECKS
from physplan_bench.paper_tables import CHECK_COLUMNS


def attempt(event: int, number: int, *checks: str, generation: int = 0) -> dict:
    violations = [{"check": check, "message": "x"} for check in checks]
    return {"event": event, "generation": generation, "attempt": number, "violations": violations}


def write_plan(path: Path, *attempts: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"events": [], "provenance": {"checks": list(attempts)}}))


def test_the_columns_are_the_checks() -> None:
    assert {column.title.lower() for column in CHECK_COLUMNS[3:]} == set(CHECKS)


def test_the_command_counts_edit_sets_over_plans_and_run_folders(evaluate_command, tmp_path: Path) -> None:
    write_plan(tmp_path / "one.json", attempt(0, 1), attempt(1, 1, "coverage", "lineage"), attempt(1, 2))
    refused = [attempt(0, n, "coverage") for n in (1, 2, 3, 4)]
    write_plan(tmp_path / "cases" / "a" / "run" / "plan.json", attempt(0, 1))
    write_plan(tmp_path / "cases" / "b" / "run" / "plan.unfinished.json", *refused)
    code, out, err = evaluate_command("checks", tmp_path, "--json", "-o", tmp_path / "out" / "checks.json")
    assert code == 0, err
    result = json.loads(out)
    assert (result["plans"], result["edit_sets"]) == (3, 4)
    assert result["shares"]["First attempt"] == 50
    assert result["shares"]["After retries"] == 75
    assert result["shares"]["Rejected"] == 25
    assert result["shares"]["Coverage"] == 100 * 5 / 6
    assert result["shares"]["Grounding"] == 0
    code, out, _ = evaluate_command("checks", tmp_path, "--reported", "--label", "ours")
    paper, ours = out.splitlines()[4:6]
    assert paper.split() == ["PhysPlan", "87", "97", "3", "46", "31", "15", "8", "reported"]
    assert ours.split() == ["ours", "50", "75", "25", "83", "0", "0", "17", "measured"]
    assert "4 edit sets of 3 plans, 6 violations" in out


def test_broken_plans_are_named_and_no_plans_are_refused(evaluate_command, tmp_path: Path) -> None:
    code, _, err = evaluate_command("checks", tmp_path)
    assert code == 2
    assert "no plans" in err
    write_plan(tmp_path / "good.json", attempt(0, 1))
    (tmp_path / "broken.json").write_text("{")
    code, out, err = evaluate_command("checks", tmp_path)
    assert code == 0
    assert "broken.json is a broken plan" in err
    assert " - " in out  # no violation: no shares of them
