"""docs/backends.md is followed to the letter: its blocks are written and run in order."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from physplan.keyframes.registry import EDITORS
from physplan.perception import Evidence
from physplan.perception.registry import DEPTH_ESTIMATORS, ENCODERS, SEGMENTERS
from physplan.pictures import to_picture
from scenes import MELTING_FIRST, melting_chain

PAGE = Path(__file__).parents[1] / "docs" / "backends.md"
BLOCK = re.compile(r"<!-- (file: (?P<file>\S+)|run) -->\n```python\n(?P<code>.*?)```", re.DOTALL)
REGISTRIES = {"Segmenter": SEGMENTERS, "Depth": DEPTH_ESTIMATORS, "Feature": ENCODERS, "Keyframe": EDITORS}


def test_its_steps_add_backends_that_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for registry in REGISTRIES.values():
        for name in ("bright", "colour", "paint-out"):
            monkeypatch.setitem(registry, name, "")  # undone, whatever the page puts there
    melting_chain().save("plan.json")
    to_picture(MELTING_FIRST).save("first_frame.png")

    blocks = list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(blocks) == 4
    scope: dict[str, object] = {}
    for block in blocks:
        if block["file"]:
            Path(block["file"]).write_text(block["code"], encoding="utf-8")
        else:
            exec(compile(block["code"], str(PAGE), "exec"), scope)
    sys.modules.pop("my_backends", None)

    told = capsys.readouterr().out
    assert "Keyframe 1 (best of 3 drawings" in told
    assert "puddle#3 was not found in keyframe 2" in told
    assert Evidence.load("evidence.safetensors").first.masks.keys() == {"ice#1", "tray#2"}


def test_every_registered_backend_is_on_the_page() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    for noun, registry in REGISTRIES.items():
        (row,) = (line for line in rows if f".{noun}" in line)
        listed = set(re.findall(r"`([a-z0-9-]+)`", row.split("|")[-2]))
        assert listed == set(registry)
