"""The campaign's short form; and that it can fail."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.attack.reverts import REVERTS

ROOT = Path(__file__).parents[2]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.attack", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.timeout(1800)  # a few seconds of computing, on a machine that may be busy
def test_a_short_bad_day_fells_nothing() -> None:
    done = run("--short")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d\d+ tried, 0 fell", done.stdout, re.MULTILINE), done.stdout


ITEMS = [*"12345", *(f"42.{number}" for number in range(1, 10))]


def test_each_fix_of_the_two_issues_can_be_taken_away() -> None:
    assert {revert.item for revert in REVERTS} == set(ITEMS)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_campaign_notices_every_fix_that_is_taken_away() -> None:
    done = run(*(word for item in ITEMS for word in ("--revert", item)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("fell, such as") == len(REVERTS)
