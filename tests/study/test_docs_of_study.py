"""The commands of docs/study.md are commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from physplan.cli import build_parser

DOCS = Path(__file__).parents[2] / "docs" / "study.md"


def test_every_command_of_the_page_is_understood() -> None:
    commands = re.findall(r"^    physplan (.+)$", DOCS.read_text("utf-8"), re.MULTILINE)
    assert len(commands) >= 5
    for command in commands:
        assert callable(build_parser().parse_args(shlex.split(command)).run)


def test_every_option_of_the_page_exists() -> None:
    source = (Path(__file__).parents[2] / "src" / "physplan" / "cli" / "study.py").read_text("utf-8")
    common = {"--format", "--json", "--plot", "--output"}
    common |= {"--result", "--generated", "--real", "--runs", "--study"}  # of `evaluate failures`
    for option in set(re.findall(r"`?(--[a-z-]+)", DOCS.read_text("utf-8"))) - common:
        assert f'"{option}"' in source, option
