"""Small studies: a few prompts, two baselines, videos of a quarter of a second."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from study_people import write_folders

from physplan.errors import PhysPlanError
from physplan_bench.cli import study
from physplan_bench.study.make import Plan, make_study


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Twelve prompts by three methods, as plain files named after their prompts."""
    return write_folders(tmp_path_factory.mktemp("videos"), prompts=12)


@pytest.fixture(scope="session")
def made(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 pairs, 12 people, 8 pairs and a check each. Copy it before votes are cast."""
    folder = tmp_path_factory.mktemp("made") / "study"
    plan = Plan(pairs=24, per_participant=8, participants=12, attention=1, codes=True, contact="the lab")
    make_study(folders, folder, plan=plan)
    return folder


@pytest.fixture(scope="session")
def small(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """6 pairs; two people see each of them once, and one check. For browsers, which take their time."""
    folder = tmp_path_factory.mktemp("small") / "study"
    make_study(
        folders, folder, plan=Plan(pairs=6, per_participant=3, participants=4, attention=1, codes=True)
    )
    return folder


@pytest.fixture
def study_command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run `physplan study ...` as the command line does; returns exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser(prog="physplan")
        study.add_parser(parser.add_subparsers(required=True))
        try:
            args = parser.parse_args(["study", *map(str, arguments)])
            code = args.run(args)
        except PhysPlanError as error:
            print(f"physplan: {error}", file=sys.stderr)
            code = error.exit_code
        except SystemExit as exit:
            code = int(exit.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
