"""Shared by the evaluation's tests: `physplan evaluate`, called in this process."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from physplan.errors import PhysPlanError
from physplan_bench.cli import evaluate
from physplan_bench.cli.evaluate import common


@pytest.fixture(autouse=True)
def _runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `evaluate` keeps its cases if nothing is said."""
    monkeypatch.setattr(common, "RUNS", tmp_path / "runs")


@pytest.fixture
def evaluate_command(capsys) -> Callable[..., tuple[int, str, str]]:
    """Run `physplan evaluate ...` as the command line does; returns exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser(prog="physplan")
        evaluate.add_parser(parser.add_subparsers(required=True))
        try:
            args = parser.parse_args(["evaluate", *map(str, arguments)])
            code = args.run(args)
        except PhysPlanError as error:
            print(f"physplan: {error}", file=sys.stderr)
            code = error.exit_code
        except SystemExit as exit:
            code = int(exit.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
