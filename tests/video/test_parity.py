"""With guidance off, our loop is the library's pipeline: same seed, same latents (what must be true, 1)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch
from PIL.Image import Image
from tests.tiny_models import NAMES, TEXT_LENGTH
from torch import Tensor

from physplan.video.families.base import FamilyModel
from physplan.video.sampling import sample

PIPELINES = {
    "cogvideox": diffusers.CogVideoXImageToVideoPipeline,
    "cogvideox15": diffusers.CogVideoXImageToVideoPipeline,
    "wan": diffusers.WanImageToVideoPipeline,
    "wan22": diffusers.WanImageToVideoPipeline,
    "wan22_5b": diffusers.WanImageToVideoPipeline,
    "ltx": diffusers.LTXImageToVideoPipeline,
    "svd": diffusers.StableVideoDiffusionPipeline,
}
SIZES = {"small": (32, 32, 9), "wide": (32, 64, 17)}  # height, width, frames
SVD_SIZES = {"small": (16, 16, 5), "wide": (16, 32, 8)}  # one latent per frame: as many tokens
STEPS = 3


@pytest.fixture(scope="module")
def pipelines(folder: Callable[[str], Path]) -> Callable[[str], Any]:
    cache: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in cache:
            cache[name] = PIPELINES[name].from_pretrained(folder(name))
            cache[name].set_progress_bar_config(disable=True)
        return cache[name]

    return get


def theirs(pipe: Any, name: str, image: Image, size: str, scale: float, dynamic: bool) -> Tensor:
    height, width, frames = (SVD_SIZES if name == "svd" else SIZES)[size]
    arguments: dict[str, Any] = {
        "image": image, "height": height, "width": width, "num_frames": frames,
        "num_inference_steps": STEPS, "generator": torch.Generator().manual_seed(7), "output_type": "latent",
    }  # fmt: skip
    if name == "svd":
        return pipe(max_guidance_scale=scale, **arguments).frames.transpose(1, 2)
    arguments |= {"prompt": "an ice cube melts", "negative_prompt": "blurry", "guidance_scale": scale}
    if name.startswith("cogvideox"):
        arguments |= {"max_sequence_length": TEXT_LENGTH, "use_dynamic_cfg": dynamic}
        return pipe(**arguments).frames.transpose(1, 2)
    latents = pipe(**arguments).frames
    if name == "ltx":
        ratios = pipe.vae_spatial_compression_ratio, pipe.vae_temporal_compression_ratio
        shape = (frames - 1) // ratios[1] + 1, height // ratios[0], width // ratios[0]
        latents = pipe._unpack_latents(latents, *shape)
    return latents


def ours(model: FamilyModel, image: Image, size: str, scale: float, dynamic: bool) -> Tensor:
    height, width, frames = (SVD_SIZES if model.name == "svd" else SIZES)[size]
    conditioning = model.prepare(
        image=image,
        prompt="an ice cube melts",
        negative_prompt="blurry",
        height=height,
        width=width,
        num_frames=frames,
        num_inference_steps=STEPS,
        guidance_scale=scale,
        use_dynamic_cfg=dynamic,
        generator=torch.Generator().manual_seed(7),
    )
    return sample(model, conditioning)


def grid() -> list[Any]:
    """Every family at both sizes and both scales, and dynamic guidance where the family has it."""
    cases = []
    for name in NAMES:
        for size in SIZES:
            for scale in (1.0, 6.0):
                cases.append((name, size, scale, False))
        if name.startswith("cogvideox"):
            cases.append((name, "small", 6.0, True))
    return cases


@pytest.mark.parametrize(("name", "size", "scale", "dynamic"), grid())
def test_our_loop_equals_the_librarys_pipeline(
    name: str,
    size: str,
    scale: float,
    dynamic: bool,
    load: Callable[..., FamilyModel],
    pipelines: Callable[[str], Any],
    picture: Image,
) -> None:
    expected = theirs(pipelines(name), name, picture, size, scale, dynamic)
    found = ours(load(name), picture, size, scale, dynamic)
    assert found.shape == expected.shape
    assert found.std() > 0.1, "a loop that does nothing would be equal too"
    assert float((found - expected).abs().max()) <= 1e-5
