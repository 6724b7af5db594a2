"""The command itself: help with examples, light imports, partial results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import evaluation_standin as standin
import pytest

from physplan_bench.cases import Case, CaseStore
from physplan_bench.cli.evaluate import BENCHMARKS
from physplan_bench.engine import EngineConfig, run_cases

COMMANDS = (
    "physics-iq",
    "phygenbench",
    "vbench",
    "fid",
    "fvd",
    "checks",
    "failures",
    "cost",
    "status",
    "paper",
)


HEAVY = ("torch", "numpy", "cv2", "ray", "av", "matplotlib", "transformers")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_benchmark_has_help_with_examples(command: str, evaluate_command) -> None:
    code, out, _ = evaluate_command(command, "--help")
    assert code == 0
    assert "examples:" in out
    assert f"physplan evaluate {command}" in out


def test_the_command_lists_every_benchmark(evaluate_command) -> None:
    code, out, _ = evaluate_command("--help")
    assert code == 0
    assert all(command in out for command in COMMANDS)


def test_building_the_parser_imports_nothing_heavy() -> None:
    program = (
        "import sys, argparse; from physplan_bench.cli import evaluate; "
        "evaluate.add_parser(argparse.ArgumentParser().add_subparsers()); "
        f"import {', '.join(f'physplan_bench.cli.evaluate.{name}' for name in BENCHMARKS)}; "
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "[]"


def test_the_engine_imports_nothing_heavy() -> None:
    program = (
        "import sys; import physplan_bench.engine, physplan_bench.workers; "
        "print([m for m in ('torch', 'numpy', 'cv2', 'ray') if m in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "[]"


def test_status_shows_partial_results(tmp_path: Path, evaluate_command) -> None:
    cases = standin.make_cases(6)
    run_cases(cases, standin.setup, tmp_path, config=EngineConfig(shard="1/3"))
    claim = CaseStore(tmp_path).claim(cases[1])
    code, out, _ = evaluate_command("status", tmp_path)
    assert code == 0
    assert "2 of 6 cases done, 1 running, 3 missing" in out
    assert "value" in out
    code, out, _ = evaluate_command("status", tmp_path, "--json")
    assert json.loads(out)["missing"] == 3
    code, _, _ = evaluate_command("status", tmp_path, "-o", tmp_path / "status.json")
    assert json.loads((tmp_path / "status.json").read_text()) == json.loads(out)
    assert claim is not None
    claim.release()
    code, _, err = evaluate_command("status", tmp_path / "none")
    assert code == 2
    assert "There is no folder" in err


def test_status_never_averages_across_methods(tmp_path: Path, evaluate_command) -> None:
    cases = [
        Case(name=f"{group} {i}", identity={"seed": i, "steps": 10}, group=group)
        for group in ("base", "physplan")
        for i in range(2)
    ]
    results = run_cases(cases, standin.setup, tmp_path).results
    _, out, _ = evaluate_command("status", tmp_path, "--json")
    groups = json.loads(out)["groups"]
    for group in ("base", "physplan"):
        values = [result["value"] for name, result in results.items() if name.startswith(group)]
        assert groups[group]["done"] == 2
        assert groups[group]["means"]["value"] == pytest.approx(sum(values) / 2)
    _, out, _ = evaluate_command("status", tmp_path)
    assert "base (n = 2)" in out
    assert "physplan (n = 2)" in out


def test_an_older_folder_of_the_sandbox_study_is_read_method_by_method(tmp_path: Path) -> None:
    entries = [{"name": "a", "identity": {"arm": "base"}}, {"name": "b", "identity": {"scene": 1}}]
    (tmp_path / "manifest.json").write_text(json.dumps(entries))
    assert [case.group for case in CaseStore(tmp_path).manifest()] == ["base", ""]


@pytest.mark.parametrize(
    "command", [name for name in (*COMMANDS, "sandbox") if name not in ("status", "paper")]
)
def test_every_benchmark_writes_prints_and_compares(command: str, evaluate_command) -> None:
    _, out, _ = evaluate_command(command, "--help")
    assert all(option in out for option in ("--reported", "--json", "-o FILE", "--format"))


def test_a_table_of_the_paper_as_json(evaluate_command, tmp_path: Path) -> None:
    code, out, _ = evaluate_command("paper", "frechet", "--json", "-o", tmp_path / "paper.json")
    assert code == 0
    assert json.loads(out)["rows"][-1]["cells"] == [45.4, 500.2, 47.7, 495.6]
    assert json.loads((tmp_path / "paper.json").read_text()) == json.loads(out)
