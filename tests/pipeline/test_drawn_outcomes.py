"""The sandbox's drawn outcome code: known to unguided videos alone, unknown where a plan leads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from physplan.guidance import Guide
from physplan.guidance.schedule import Schedule
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.latents_stage import SamplingRequest, make_latents
from physplan.video.protocol import Conditioning
from physplan_bench.sandbox.arms import Arm
from physplan_bench.sandbox.making import make_sketch_of
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_sandbox.world.phenomena import scene


class Stopped(Exception):
    """The first step has been asked for."""


SETTINGS: Mapping[str, Any] = {"sketch.weak": 0.1, "sketch.strong": 0.2}


@pytest.mark.parametrize("led_by", ["nothing", "sketch", "guidance", "guidance without repeats"])
def test_a_video_that_a_plan_leads_has_no_drawn_outcome(led_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = PreparedScene(
        scene=scene("validation", 560), config=with_defaults(load_config("sandbox", SETTINGS))
    )
    codes: list[Tensor] = []

    def first_step(latents: Tensor, n: int, conditioning: Conditioning, **options: Any) -> Tensor:
        codes.append(conditioning.inputs["outcome_code"])
        raise Stopped

    monkeypatch.setattr(here.backends.video, "predict", first_step)
    sketch = make_sketch_of(here, Arm(name="sketch")) if led_by == "sketch" else None
    guided_by = None
    if led_by.startswith("guidance"):
        chain, evidence = here.drawn(1, "graph")
        config = here.config.guided_sketch
        if "without" in led_by:
            config = replace(config, schedule=Schedule.unguided(), keep=False)
        guided_by = Guide(chain=chain, evidence=evidence, config=config)
    with torch.no_grad(), pytest.raises(Stopped):
        make_latents(
            SamplingRequest(
                config=here.config,
                backends=here.backends,
                frame=here.picture,
                prompt=here.scene.prompt,
                seed=0,
                guided_by=guided_by,
                sketch=sketch,
            )
        )
    assert bool(codes[0].any()) == (led_by == "nothing")
