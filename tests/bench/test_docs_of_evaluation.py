"""The commands' own examples: every command there is a command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from physplan.cli import build_parser
from physplan_bench.cli import batch
from physplan_bench.cli.evaluate import phygenbench, phyground, physics_iq

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    """Lines that begin with the command, with what they go on with; [optional] parts are left out."""
    joined = re.sub(r" *\\\n\s+", " ", text)
    lines = re.findall(r"^ +(physplan (?:evaluate|batch) .*)$", joined, re.MULTILINE)
    return [re.sub(r"\[[^]]*\]|  +\S.*$", "", line) for line in lines if "..." not in line]


@pytest.mark.parametrize(
    "text",
    [physics_iq.EXAMPLES, phygenbench.EXAMPLES, phyground.EXAMPLES, batch.EXAMPLES],
    ids=["iq", "phygen", "phyground", "batch"],
)
def test_every_command_is_understood(text: str) -> None:
    found = commands(text)
    assert found
    for line in found:
        assert callable(build_parser().parse_args(shlex.split(line)[1:]).run), line


def test_the_page_shows_how_videos_are_made() -> None:
    generating = [line for line in commands(PAGE) if "--generate " in line]
    assert {line.split()[2] for line in generating} == {"physics-iq", "phygenbench", "phyground"}
