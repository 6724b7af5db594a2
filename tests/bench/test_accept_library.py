"""`physplan accept` asks the library's own pipeline as our sampler is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image

from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.latents_stage import prepare
from physplan.video.sampling import sample
from physplan_bench.accept.library import SEED, library_latents
from physplan_models.loading import load_video_model
from physplan_testing import tiny_models


@pytest.mark.parametrize(
    ("name", "folder"), [("hunyuan-framepack", "framepack"), ("cosmos3-nano", "cosmos3")]
)
def test_the_library_gives_the_latents_of_our_sampler(name: str, folder: str, tmp_path: Path) -> None:
    source = tiny_models.build(folder, tmp_path / folder)
    size = {"height": 32, "width": 32, "num_frames": 9, "num_inference_steps": 2, "fps": 8}
    own = {"model": name, "source": str(source), "dtype": "fp32", **size}
    video = with_defaults(load_config("open", {f"video.{key}": value for key, value in own.items()})).video
    picture = Image.linear_gradient("L").convert("RGB").resize((32, 32))
    theirs = library_latents(video, picture, "a ball rolls", steps=2, device="cpu", offload=False)
    model, generator = load_video_model(source), torch.Generator().manual_seed(SEED)
    conditioning = prepare(model, video, picture, "a ball rolls", generator)
    assert float((sample(model, conditioning) - theirs).abs().max()) <= 1e-5
