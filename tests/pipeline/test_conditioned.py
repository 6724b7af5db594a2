"""`--method conditioned`: the plan's keyframes given to models that take them, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.pipeline import tiny_pipelines
from tests.pipeline.tiny_pipelines import PROMPT

from loopback import GeminiServer
from physplan.errors import PhysPlanError
from physplan.pipeline import PhysPlan
from physplan.video.memory import published_on_meta
from physplan.video.published import PUBLISHED


def recipe(models: Path, url: str, model: str, folder: str, **more: Any) -> dict[str, Any]:
    made = tiny_pipelines.paper(models, url) | more
    made["video"] = {**made["video"], "model": model, "source": str(models / folder)}
    return made


def test_keyframes_go_to_the_model_alone_or_with_the_sketch(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    given = recipe(models, gemini.url, "ltx-0.9.5", "ltx095", sketch={"weak": 0.4, "strong": 0.7})
    pp = PhysPlan.from_preset(given)
    plain = pp.generate(ice, PROMPT, method="conditioned", output_dir=tmp_path / "plain")
    assert plain.video.shape == (9, 3, 32, 32)
    assert torch.isfinite(plain.video).all()
    assert not any("the nearest it takes" in note for note in plain.notes)
    asked = len(gemini.asked)
    both = PhysPlan.from_preset(given | {"conditioned": {"start": "sketch"}}).generate(
        ice, PROMPT, method="conditioned", output_dir=tmp_path / "both", reuse=tmp_path / "plain"
    )
    assert len(gemini.asked) == asked
    assert not torch.allclose(both.video, plain.video, atol=1e-3)


def test_a_keyframe_that_had_to_move_is_in_the_notes(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    pp = PhysPlan.from_preset(recipe(models, gemini.url, "wan2.2-a14b", "wan22"))
    notes = pp.generate(ice, PROMPT, method="conditioned", output_dir=tmp_path / "run").notes
    assert sum("is left out: this model has no place for it" in note for note in notes) == 2
    assert any("given at frame 8, the nearest it takes" in note for note in notes)


def test_a_model_that_takes_no_keyframes_is_refused_before_anything_is_paid(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    pp = PhysPlan.from_preset(tiny_pipelines.paper(models, gemini.url))
    with pytest.raises(PhysPlanError, match="takes no keyframes"):
        pp.generate(ice, PROMPT, method="conditioned", output_dir=tmp_path / "run")
    with pytest.raises(PhysPlanError, match=r"sandbox takes no keyframes: use .*ltx-0.9.5"):
        PhysPlan.from_preset("sandbox").generate(
            ice, PROMPT, method="conditioned", output_dir=tmp_path / "run"
        )
    assert not gemini.asked
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_said_of_a_published_model_is_what_it_takes(name: str) -> None:
    preset = PUBLISHED[name]
    model = published_on_meta(preset)
    layout = model.check_size(height=preset.height, width=preset.width, num_frames=preset.num_frames)
    last = preset.num_frames - 1
    expected = {"none": (), "last": (last,), "any": tuple(range(1, last + 1))}[preset.keyframes]
    assert tuple(model.keyframe_places(layout)) == expected
