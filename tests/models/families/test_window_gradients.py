"""Gradients from a pixel of a decoded window back to z_t (what must be true, 3)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from PIL.Image import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan.video.gradient_checkpointing import Checkpointing
from physplan.video.protocol import Conditioning, VideoRequest
from physplan_models.memory import Saved, parameters
from physplan_testing.tiny_models import NAMES

FRAMES = 17


def prepare(model: FamilyModel, picture: Image, scale: float = 1.0) -> Conditioning:
    return model.prepare(
        VideoRequest(
            image=picture,
            prompt="a ball rolls",
            height=32 if model.name != "svd" else 16,
            width=32 if model.name != "svd" else 16,
            num_frames=FRAMES if model.name != "svd" else 5,
            num_inference_steps=2,
            guidance_scale=scale,
            generator=torch.Generator().manual_seed(0),
        )
    )


def back(model: FamilyModel, conditioning: Conditioning, frame: int, n: int = 1) -> tuple[Tensor, Tensor]:
    """Gradients of one pixel at z_t, and at the clean estimate it was decoded from."""
    z = conditioning.latents.clone().requires_grad_()
    clean = conditioning.noise.clean_estimate(z, model.predict(z, n, conditioning), n)
    window = conditioning.layout.window(frame, model.preview_length, model.preview_mode)
    pixel = model.decode_window(clean[:, :, window.latents], window)[:, 7, 9].sum()
    at_z, at_clean = torch.autograd.grad(pixel, (z, clean))
    return at_z, at_clean


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_a_pixel_reaches_every_latent_it_should(
    name: str, scale: float, load: Callable[..., FamilyModel], picture: Image
) -> None:
    model = load(name)
    conditioning = prepare(model, picture, scale)
    frame = 2
    at_z, at_clean = back(model, conditioning, frame)
    per_latent = at_z.abs().amax(dim=(0, 1, 3, 4))
    frozen = conditioning.noise.frozen
    assert torch.isfinite(at_z).all()
    # The denoiser attends to all latents, so each of them moves the pixel, but those that are the picture,
    # and those of the sound, which guidance leaves alone.
    sound = conditioning.layout.video.stop
    assert (per_latent[frozen:sound] > 0).all()
    assert (per_latent[:frozen] == 0).all()
    assert (per_latent[sound:] == 0).all()
    # At the clean estimate only the window is reached, up to the frame's own latent at least.
    window = conditioning.layout.window(frame, model.preview_length, model.preview_mode)
    own = conditioning.layout.latent_index(frame)
    reached = at_clean.abs().amax(dim=(0, 1, 3, 4)) > 0
    assert reached[own]
    assert not reached[: window.latents.start].any()
    assert not reached[window.latents.stop :].any()


@pytest.mark.parametrize(
    "name", ["cogvideox", "wan", "wan22_5b", "ltx", "ltx2", "hunyuan15", "framepack", "svd"]
)
def test_checkpointing_changes_memory_but_not_gradients(
    name: str, load: Callable[..., FamilyModel], picture: Image
) -> None:
    plain, checkpointed = load(name), load(name, checkpointing=True)
    conditioning = prepare(plain, picture)
    found, bytes_kept = [], []
    for model in (plain, checkpointed):
        saved = Saved(parameters(model))
        with saved.counted():
            z = conditioning.latents.clone().requires_grad_()
            clean = conditioning.noise.clean_estimate(z, model.predict(z, 1, conditioning), 1)
            window = conditioning.layout.window(4)
            frame = model.decode_window(clean[:, :, window.latents], window)
        bytes_kept.append(saved.bytes)
        found.append(torch.autograd.grad(frame.square().sum(), z)[0])
    assert torch.equal(*found)
    print(f"{name}: {bytes_kept[0]} bytes kept, {bytes_kept[1]} with checkpointing")
    assert bytes_kept[1] < 0.6 * bytes_kept[0]


def test_the_unconditional_branch_can_go_without_a_gradient(
    load: Callable[..., FamilyModel], picture: Image
) -> None:
    model = load("cogvideox")
    conditioning = prepare(model, picture, 6.0)
    kept, outputs = [], []
    for wanted in (True, False):
        saved, z = Saved(parameters(model)), conditioning.latents.clone().requires_grad_()
        with saved.counted():
            outputs.append(model.predict(z, 1, conditioning, unconditional_grad=wanted))
        kept.append(saved.bytes)
    assert torch.allclose(*outputs, atol=1e-5)
    assert outputs[1].requires_grad
    assert kept[1] < 0.6 * kept[0]


class IgnoresCheckpointing(torch.nn.Linear):
    """A network that takes the wish and does nothing with it, as some library versions did."""

    def enable_gradient_checkpointing(self, function: object) -> None:
        self.wish = function


def test_checkpointing_that_the_library_ignores_is_an_error(
    load: Callable[..., FamilyModel], picture: Image
) -> None:
    checkpointing = Checkpointing(IgnoresCheckpointing(2, 2))
    with pytest.raises(
        PhysPlanError, match="IgnoresCheckpointing was asked for gradient checkpointing but ran"
    ):
        checkpointing.verify()


def test_a_model_checks_that_its_checkpointing_ran(load: Callable[..., FamilyModel], picture: Image) -> None:
    model = load("cogvideox", checkpointing=True, slicing=True)  # not shared: it is broken below
    conditioning = prepare(model, picture)
    assert model.denoiser_checkpointing is not None
    model.denoiser.disable_gradient_checkpointing()
    model.denoiser_checkpointing.blocks = 0
    z = conditioning.latents.clone().requires_grad_()
    with pytest.raises(PhysPlanError, match="CogVideoXTransformer3DModel was asked"):
        model.predict(z, 0, conditioning)
