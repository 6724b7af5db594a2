"""Decoding a window shows the right frame (what must be true, 2: on real autoencoders)."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from diffusers.models.autoencoders.autoencoder_kl_wan import WanCausalConv3d
from torch import Tensor

from physplan.video.base import FamilyModel
from physplan.video.frames import FrameLayout

FRAMES = {
    "cogvideox": 17, "cogvideox15": 17, "wan": 17, "wan22_5b": 17, "ltx": 41, "ltx2": 41, "hunyuan15": 17,
    "framepack": 17, "svd": 9,
}  # fmt: skip


def random_latents(model: FamilyModel, layout: FrameLayout) -> Tensor:
    small = 2 if model.name != "svd" else 8
    generator = torch.Generator().manual_seed(0)
    return 2 * torch.randn(1, model.latent_channels, layout.num_latents, small, small, generator=generator)


def layout_of(model: FamilyModel, frames: int) -> FrameLayout:
    side = model.side_multiple
    return model.check_size(height=side, width=side, num_frames=frames)


@torch.no_grad()
def distances(model: FamilyModel, length: int, mode: str, frames: int) -> Tensor:
    """[F, F]: how far each frame's preview is from every frame of the full decode."""
    layout = layout_of(model, frames)
    latents = random_latents(model, layout)
    video = model.codec.decode(latents[:, :, layout.padding :])
    assert len(video) == frames
    rows = []
    for frame in range(frames):
        window = layout.window(frame, length, mode)
        preview = model.decode_window(latents[:, :, window.latents], window)
        rows.append((video - preview).abs().mean(dim=(1, 2, 3)))
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("name", "length", "mode"),
    [
        ("cogvideox", 3, "trailing"),
        ("cogvideox", 3, "centred"),
        ("cogvideox", 2, "trailing"),
        ("cogvideox15", 3, "trailing"),
        ("ltx", 5, "centred"),
        ("ltx2", 5, "centred"),
        ("hunyuan15", 3, "trailing"),
        ("svd", 3, "centred"),
        ("svd", 3, "trailing"),
    ],
)
def test_the_preview_is_nearest_to_its_own_frame(
    name: str, length: int, mode: str, load: Callable[..., FamilyModel]
) -> None:
    found = distances(load(name), length, mode, FRAMES[name]).argmin(dim=1)
    assert found.tolist() == list(range(FRAMES[name]))


@pytest.mark.parametrize("name", ["wan", "wan22_5b"])
@pytest.mark.parametrize("mode", ["trailing", "centred"])
def test_a_decoder_without_memory_gives_exactly_the_frame(
    name: str, mode: str, load: Callable[..., FamilyModel]
) -> None:
    """Wan's random decoder makes all frames alike; with the past cut off, only the right index is exact."""
    model = copy.deepcopy(load(name))
    for module in model.codec.vae.decoder.modules():
        if isinstance(module, WanCausalConv3d) and module.kernel_size[0] > 1:
            module.weight[:, :, :-1] = 0
    errors = distances(model, 3, mode, FRAMES[name])
    assert errors.diagonal().max() < 1e-6
    assert (errors + torch.eye(len(errors))).min() > 1e-5, "other frames must differ"


@pytest.mark.parametrize("name", ["cogvideox", "wan", "wan22_5b", "hunyuan15"])
def test_the_first_frames_are_exact_in_causal_models(name: str, load: Callable[..., FamilyModel]) -> None:
    errors = distances(load(name), 3, "trailing", FRAMES[name]).diagonal()
    assert errors[:5].max() < 1e-6


@pytest.mark.parametrize("name", list(FRAMES))
def test_a_window_as_long_as_the_video_is_exact(name: str, load: Callable[..., FamilyModel]) -> None:
    model, frames = load(name), 9
    layout = layout_of(model, frames)
    errors = distances(model, layout.latents_of_video, "trailing", frames).diagonal()
    assert errors.max() < 1e-6
