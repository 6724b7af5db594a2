"""Run folders that version 0.1 made are continued, and say what they were in today's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from physplan.files import write_json
from physplan.pipeline.pipeline import PhysPlan
from physplan.pipeline.run import RunRequest, prepare_run, recorded_settings
from physplan.pipeline.stage_keys import deciding_settings, differences, digest, former_keys
from physplan.runs import RunFolder, layout
from physplan_sandbox.samples import first_frame, sample


@pytest.mark.parametrize(
    ("then", "now"), [("physplan", "guided_sketch"), ("no_depth", "guided_sketch.no_depth"), ("base", "base")]
)
def test_a_run_folder_of_version_0_1_is_continued_and_says_what_it_was(
    tmp_path: Path, then: str, now: str
) -> None:
    """Written as that version did: one block of guidance, other names, and the keys that follow from them."""
    pp, shown = PhysPlan.from_preset("sandbox"), sample("ice-tray")
    given: dict[str, Any] = {"image": first_frame(shown), "prompt": shown.prompt, "method": now}
    run = prepare_run(RunFolder(tmp_path), pp.config, pp.backends, RunRequest(**given))
    settings = deciding_settings(run.config, run.inputs)
    former = {name: value for name, value in settings.items() if name != "guided_sketch"}
    former |= {"guidance": settings["guided_sketch"], "method": then}
    about = {"inputs": {"prompt": shown.prompt, "method": then, "seed": 0}, "identity": former}
    write_json(tmp_path / "run.json", about | {"versions": {"physplan": "0.1.0"}})
    assert layout.load_run(tmp_path).method == now
    assert differences(recorded_settings(run) or {}, settings) == []
    for stage in ("latents", "verdict"):
        key = digest({"stage": stage, "settings": former, "made_from": {}})
        assert key in former_keys(run.config, run.inputs, stage, {})
    given["method"] = "physplan"
    other = prepare_run(RunFolder(tmp_path), pp.config, pp.backends, RunRequest(**given))
    assert differences(recorded_settings(other) or {}, deciding_settings(other.config, other.inputs))
