"""The command itself: help with examples, light imports, partial results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import evaluation_standin as standin
import pytest

from physplan.cli.evaluate import BENCHMARKS
from physplan.evaluation.cases import CaseStore
from physplan.evaluation.engine import EngineConfig, run_cases

COMMANDS = ("physics-iq", "phygenbench", "vbench", "fid", "fvd", "failures", "cost", "status", "paper")


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
        "import sys, argparse; from physplan.cli import evaluate; "
        "evaluate.add_parser(argparse.ArgumentParser().add_subparsers()); "
        f"import {', '.join(f'physplan.cli.evaluate.{name}' for name in BENCHMARKS)}; "
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "[]"


def test_the_engine_imports_nothing_heavy() -> None:
    program = (
        "import sys; import physplan.evaluation.engine, physplan.evaluation.workers; "
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
    assert claim is not None
    claim.release()
    code, _, err = evaluate_command("status", tmp_path / "none")
    assert code == 2
    assert "There is no folder" in err
