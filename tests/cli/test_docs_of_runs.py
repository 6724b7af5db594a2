"""The page about presets: its config is a config."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from physplan.pipeline import load_config

DOCS = Path(__file__).parents[2] / "docs"


def test_the_config_on_the_page_is_read() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "presets.md").read_text(encoding="utf-8"), re.DOTALL)
    config = load_config(yaml.safe_load(block))
    assert config.video.num_frames == 25
    assert config.guidance.schedule.repeats[:6] == (6, 6, 6, 6, 6, 6)
    assert config.runtime.keep_models is False
