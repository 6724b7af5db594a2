"""The page about presets: its configs are configs."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from physplan.pipeline import load_config

DOCS = Path(__file__).parents[2] / "docs"


def test_the_configs_on_the_page_are_read() -> None:
    page = (DOCS / "presets.md").read_text(encoding="utf-8")
    local, own = (
        load_config(yaml.safe_load(block)) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    )
    assert local.reasoner.base_url == "http://localhost:8000/v1"
    assert (local.editor.name, local.editor.base_url) == ("image-server", "http://localhost:8001/v1")
    assert own.video.num_frames == 25
    assert own.guidance.schedule.repeats[:6] == (6, 6, 6, 6, 6, 6)
    assert own.runtime.keep_models is False
