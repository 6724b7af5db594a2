"""With guidance off, our loop is the library's pipeline: same seed, same latents (what must be true, 1)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch
from diffusers import AutoencoderKLLTXVideo
from PIL.Image import Image
from torch import Tensor

from physplan.video.base import FamilyModel
from physplan.video.protocol import VideoRequest
from physplan.video.sampling import sample
from physplan_models.families.ltx import LTXCodec
from physplan_testing.tiny_models import NAMES, TEXT_LENGTH

PIPELINES = {
    "cogvideox": diffusers.CogVideoXImageToVideoPipeline,
    "cogvideox15": diffusers.CogVideoXImageToVideoPipeline,
    "wan": diffusers.WanImageToVideoPipeline,
    "wan22": diffusers.WanImageToVideoPipeline,
    "wan22_5b": diffusers.WanImageToVideoPipeline,
    "ltx": diffusers.LTXImageToVideoPipeline,
    "ltx2": diffusers.LTX2ImageToVideoPipeline,
    "hunyuan15": diffusers.HunyuanVideo15ImageToVideoPipeline,
    "hunyuan15_meanflow": diffusers.HunyuanVideo15ImageToVideoPipeline,
    "svd": diffusers.StableVideoDiffusionPipeline,
    "cosmos3": diffusers.Cosmos3OmniPipeline,
    "framepack": diffusers.HunyuanVideoFramepackPipeline,
}
SIZES = {"small": (32, 32, 9), "wide": (32, 64, 17)}  # height, width, frames
SVD_SIZES = {"small": (16, 16, 5), "wide": (16, 32, 8)}  # one latent per frame: as many tokens
HUNYUAN_SIZES = {
    "small": (32, 32, 9),
    "wide": (24, 40, 17),
}  # its library chooses them from the picture's shape
STEPS = 3


def size_of(name: str, size: str) -> tuple[int, int, int]:
    if name.startswith("hunyuan"):
        return HUNYUAN_SIZES[size]
    return (SVD_SIZES if name == "svd" else SIZES)[size]


@pytest.fixture(scope="module")
def pipelines(folder: Callable[[str], Path]) -> Callable[[str], Any]:
    cache: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in cache:
            cache[name] = PIPELINES[name].from_pretrained(folder(name))
            cache[name].set_progress_bar_config(disable=True)
        return cache[name]

    return get


def theirs(
    pipe: Any, name: str, image: Image, size: str, scale: float, dynamic: bool, output: str = "latent"
) -> Tensor:
    height, width, frames = size_of(name, size)
    arguments: dict[str, Any] = {
        "image": image, "height": height, "width": width, "num_frames": frames,
        "num_inference_steps": STEPS, "generator": torch.Generator().manual_seed(7), "output_type": output,
    }  # fmt: skip
    if name == "svd":
        latents = pipe(max_guidance_scale=scale, **arguments).frames
        return latents.transpose(1, 2) if output == "latent" else latents
    arguments |= {"prompt": "an ice cube melts", "negative_prompt": "blurry"}
    if name.startswith("hunyuan"):
        pipe.guider = diffusers.ClassifierFreeGuidance(guidance_scale=scale)
        del arguments["height"], arguments["width"]
        return pipe(**{**arguments, "image": image.resize((width, height))}).frames
    arguments |= {"guidance_scale": scale}
    if name == "ltx2":
        return theirs_with_sound(pipe, arguments)
    if name == "framepack":  # one section; the first picture's latent comes before it
        del arguments["negative_prompt"]
        latents = pipe(**{**arguments, "num_frames": 1}, latent_window_size=frames // 4).frames
        return latents[0] if output == "latent" else latents
    if name == "cosmos3":
        made = pipe(**arguments).video
        return made if output == "latent" else made[None]
    if name.startswith("cogvideox"):
        arguments |= {"max_sequence_length": TEXT_LENGTH, "use_dynamic_cfg": dynamic}
    latents = pipe(**arguments).frames
    if output != "latent":
        return latents
    if name.startswith("cogvideox"):
        return latents.transpose(1, 2)
    if name == "ltx":
        ratios = pipe.vae_spatial_compression_ratio, pipe.vae_temporal_compression_ratio
        shape = (frames - 1) // ratios[1] + 1, height // ratios[0], width // ratios[0]
        latents = pipe._unpack_latents(latents, *shape)
    return latents


def theirs_with_sound(pipe: Any, arguments: dict[str, Any]) -> Tensor:
    """LTX-2 with classifier-free guidance alone, as 2.0 was published; latents as the denoiser sees them."""
    off = {"stg_scale": 0.0, "modality_scale": 1.0, "guidance_rescale": 0.0, "audio_guidance_scale": None}
    off |= {f"audio_{name}": off[name] for name in ("stg_scale", "modality_scale", "guidance_rescale")}
    made = pipe(**arguments, **off, spatio_temporal_guidance_blocks=None, use_cross_timestep=False)
    if arguments["output_type"] != "latent":
        return made.frames
    return pipe._normalize_latents(made.frames, pipe.vae.latents_mean, pipe.vae.latents_std)


def ours(model: FamilyModel, image: Image, size: str, scale: float, dynamic: bool) -> Tensor:
    height, width, frames = size_of(model.name, size)
    if model.name.startswith("hunyuan"):
        image = image.resize((width, height))
    conditioning = model.prepare(
        VideoRequest(
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
    )
    latents = sample(model, conditioning)
    return latents[:, :, : latents.shape[2] - conditioning.layout.behind]


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


@pytest.mark.parametrize("name", NAMES)
def test_our_video_equals_the_librarys_video(
    name: str, load: Callable[..., FamilyModel], pipelines: Callable[[str], Any], picture: Image
) -> None:
    model = load(name)
    video = theirs(pipelines(name), name, picture, "small", 1.0, False, output="pt")[0]
    height, width, frames = size_of(name, "small")
    layout = model.check_size(height=height, width=width, num_frames=frames)
    found = model.decode(ours(model, picture, "small", 1.0, False), layout)
    assert found.shape == video.shape == (frames, 3, height, width)
    assert float((found - video).abs().max()) <= 1e-5


def test_an_ltx_decoder_that_removes_noise_gives_the_same_preview_twice() -> None:
    """From 0.9.1 on, LTX's autoencoder is told a timestep and given a bit of noise."""
    vae = AutoencoderKLLTXVideo(
        latent_channels=8,
        block_out_channels=(8, 8, 8, 8),
        decoder_block_out_channels=(8, 16, 32),
        layers_per_block=(1, 1, 1, 1, 1),
        decoder_layers_per_block=(1, 1, 1, 1),
        decoder_spatio_temporal_scaling=(True, True, True),
        decoder_inject_noise=(True, True, True, False),
        upsample_residual=(True,) * 3,
        upsample_factor=(2, 2, 2),
        timestep_conditioning=True,
    ).eval()
    for name, weight in vae.named_parameters():
        if "per_channel_scale" in name:
            torch.nn.init.ones_(weight)  # of the noise; they start at zero
    codec = LTXCodec(vae)
    latents = torch.randn(1, 8, 2, 1, 1, requires_grad=True)
    first, second = codec.decode(latents), codec.decode(latents)
    assert first.shape == (9, 3, 32, 32)
    assert torch.equal(first, second)
    assert torch.isfinite(torch.autograd.grad(first.sum(), latents)[0]).all()
