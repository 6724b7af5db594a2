"""The pages about runs: their commands are commands, and their config is a config."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from physplan.cli import build_parser
from physplan.pipeline import load_config

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("quickstart", "presets", "editing-plans", "reading-a-report")


def commands(page: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    return [line.split("#")[0].strip() for line in lines if line.startswith("physplan ")]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_the_page_is_understood(page: str) -> None:
    for line in commands(page):
        assert callable(build_parser().parse_args(shlex.split(line)[1:]).run), line
    if page in ("quickstart", "editing-plans"):
        assert len(commands(page)) >= 3


def test_the_config_on_the_page_is_read() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "presets.md").read_text(encoding="utf-8"), re.DOTALL)
    config = load_config(yaml.safe_load(block))
    assert config.video.num_frames == 25
    assert config.guidance.schedule.repeats[:6] == (6, 6, 6, 6, 6, 6)
    assert config.runtime.keep_models is False
