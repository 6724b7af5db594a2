"""The options of docs/study.md are options."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs" / "study.md"


def test_every_option_of_the_page_exists() -> None:
    source = (Path(__file__).parents[3] / "src" / "physplan_bench" / "cli" / "study.py").read_text("utf-8")
    common = {"--format", "--json", "--plot", "--output"}
    common |= {"--result", "--generated", "--real", "--runs", "--study"}  # of `evaluate failures`
    common |= {
        "--image",
        "--prompt",
        "--method",
        "--seed",
        "--seeds",
    }  # of `generate`, which makes the page's videos
    for option in set(re.findall(r"`?(--[a-z-]+)", DOCS.read_text("utf-8"))) - common:
        assert f'"{option}"' in source, option
