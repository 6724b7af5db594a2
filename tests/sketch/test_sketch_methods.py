"""`--method sketch` and `--method storyboard` in a run's folder, with the sandbox's own models."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image

from physplan import PhysPlan
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.sketch import make_sketch
from physplan.video.files import read_video
from physplan_sandbox.world.phenomena import scene


@pytest.fixture
def picture() -> Image.Image:
    return Image.fromarray(scene("validation", 200).render().frames[0])


def test_a_storyboard_is_the_sketch_and_needs_no_video_model(tmp_path: Path, picture: Image.Image) -> None:
    pipeline = PhysPlan.from_preset("sandbox")
    result = pipeline.generate(picture, "the ball drops", method="storyboard", output_dir=tmp_path / "run")
    assert "video" not in pipeline.backends.__dict__  # never loaded
    folder = tmp_path / "run"
    assert not (folder / "latents.safetensors").exists()
    sketch = make_sketch(
        EventChain.load(folder / "plan.json"), Evidence.load(folder / "evidence.safetensors")
    )
    shown = read_video(folder / "video.mkv").frames
    assert (shown - sketch.frames).abs().max() <= 0.5 / 255 + 1e-6
    assert result.losses == {}
    assert result.plan is not None


def test_the_sketch_method_keeps_its_sketch_beside_its_video(tmp_path: Path, picture: Image.Image) -> None:
    pipeline = PhysPlan.from_preset("sandbox")
    folder = tmp_path / "run"
    result = pipeline.generate(
        picture, "the ball drops", method="sketch", output_dir=folder, output_type="pt"
    )
    assert (folder / "sketch.mp4").exists()
    assert not (folder / "regions.safetensors").exists()
    sketch = make_sketch(result.plan, Evidence.load(folder / "evidence.safetensors"))
    base = pipeline.generate(picture, "the ball drops", method="base")
    near, far = ((video - sketch.frames)[-1].abs().mean() for video in (result.video, base.video))
    assert near < far  # it follows the sketch
    again = pipeline.generate(picture, "the ball drops", method="sketch")
    assert torch.equal(again.video, result.video)


def test_a_method_that_there_is_not_is_answered_with_one_that_there_is(picture: Image.Image) -> None:
    with pytest.raises(PhysPlanError, match="storyboard"):
        PhysPlan.from_preset("sandbox").generate(picture, "the ball drops", method="storybord")
