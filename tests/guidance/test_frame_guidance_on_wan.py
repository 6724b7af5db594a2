"""On Wan, `frame_guidance` is what Frame Guidance's public code does there, step by step.

`follow` is written from a description of that code alone, on the raw diffusers modules; nothing of
`physplan.guidance` or of the video adapters' arithmetic is used in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from tests.guidance.frame_guidance_plans import at_anchors, keyframes
from torch import Tensor

from physplan.guidance import Guide, Progress, Schedule, guide
from physplan.guidance.recipes import FRAME_GUIDANCE_WAN
from physplan.methods import find
from physplan.pipeline.config_loading import load_config
from physplan.video.base import FamilyModel
from physplan.video.protocol import Conditioning
from physplan_testing.pictures import ColourFeatures, ground_depth

HALF = (16, 16)  # of the videos of these tests
REPEATS, TRAVEL, ETA, SCALE = (2, 1, 2, 0), (1, 2), 3, 6.0
CONFIG = replace(FRAME_GUIDANCE_WAN, schedule=Schedule(repeats=REPEATS, travel=TRAVEL), step_size=ETA)


@pytest.fixture(scope="module")
def wan(load: Callable[[str], FamilyModel]) -> FamilyModel:
    return load("wan")


def follow(
    model: FamilyModel, conditioning: Conditioning, guided: dict[int, Tensor], seed: int
) -> tuple[Tensor, list[Tensor]]:
    """Sample, guided towards frame -> half-size picture: the last latents, and every clean estimate."""
    transformer, vae, scheduler = model.pipe.transformer, model.pipe.vae, model.pipe.scheduler
    negative, text = conditioning.inputs["text"]
    picture, seen_by_clip = conditioning.inputs["picture"], conditioning.inputs["seen"]
    mean, std = (
        torch.tensor(values).view(1, -1, 1, 1, 1)
        for values in (vae.config.latents_mean, vae.config.latents_std)
    )
    generator = torch.Generator().manual_seed(seed)
    latents = torch.randn(conditioning.latents.shape, generator=generator)

    def forward(z: Tensor, words: Tensor, t: Tensor) -> Tensor:
        return transformer(
            hidden_states=torch.cat([z, picture], dim=1),
            timestep=t.expand(1),
            encoder_hidden_states=words[None],
            encoder_hidden_states_image=seen_by_clip,
            return_dict=False,
        )[0]

    def decoded(clean: Tensor, frame: int) -> Tensor:
        """Two latents at half their size, and of the five frames in them the one that is wanted."""
        j = (frame - 1) // 4 + 1
        window = (clean * std + mean)[:, :, j - 1 : j + 1]
        small = F.interpolate(window[0].transpose(0, 1), scale_factor=0.5, mode="bilinear")
        return vae.decode(small.transpose(0, 1)[None]).sample[0, :, (frame - 1) % 4 + 1]

    estimates = []
    for i, t in enumerate(scheduler.timesteps):
        sigma, following = scheduler.sigmas[i], scheduler.sigmas[i + 1]
        for repeat in range(REPEATS[i] + 1):
            latents = latents.detach().requires_grad_()
            with torch.set_grad_enabled(repeat < REPEATS[i]):
                conditional, unconditional = forward(latents, text, t), forward(latents, negative, t)
                v = unconditional + SCALE * (conditional - unconditional)
                clean = latents - sigma * v
            estimates.append(clean.detach())
            if repeat == REPEATS[i]:
                break
            loss = sum(F.mse_loss(decoded(clean, frame), wanted) for frame, wanted in guided.items())
            (gradient,) = torch.autograd.grad(loss, latents)
            gradient = gradient / gradient.norm()
            with torch.no_grad():
                if TRAVEL[0] <= i <= TRAVEL[1]:
                    noise = torch.randn(latents.shape, generator=generator)
                    latents = sigma * noise + (1 - sigma) * clean - ETA * gradient
                else:
                    latents = latents - ETA * gradient
        latents = (latents + (following - sigma) * v).detach()
    return latents, estimates


@pytest.mark.parametrize("fractions", [(0.4, 0.4), (0.1, 0.12)], ids=["frames 6 and 13", "frames 2 and 4"])
def test_every_repeat_equals_the_described_steps(wan, prepare, chain, evidence, fractions):
    plan = at_anchors(chain, *fractions)
    conditioning, generator = prepare(seed=3, of=wan, scale=SCALE)
    clean: list[Tensor] = []
    sizes = set()

    def collect(progress: Progress) -> None:
        clean.append(progress.clean)
        sizes.update(tuple(frame.shape[-2:]) for frame in progress.previews.values())

    result = guide(
        wan,
        conditioning,
        Guide(chain=plan, evidence=evidence, config=CONFIG),
        encoder=ColourFeatures(),
        depth=ground_depth,
        generator=generator,
        on_progress=collect,
    )
    guided = dict(zip(plan.anchors, keyframes(evidence, HALF), strict=True))
    expected, estimates = follow(wan, conditioning, guided, 3)
    assert sizes == {HALF}
    assert len(estimates) == sum(REPEATS) + len(REPEATS) == len(clean)
    for ours, theirs in zip(clean, estimates, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=2e-4)
    torch.testing.assert_close(result.latents, expected, rtol=1e-3, atol=2e-4)


def test_the_defaults_are_those_of_its_wan_pipeline_and_wan_gets_them():
    found = find("frame_guidance").guidance(load_config("paper", {"video.model": "wan2.1-14b"}))
    assert found == FRAME_GUIDANCE_WAN
    assert (found.window_length, found.window_mode, found.preview_downscale) == (2, "trailing", 2)
    assert found.schedule.travel == (3, 10)
    assert (found.noise_order, found.update) == ("own", "after")
    assert find("frame_guidance").guidance(load_config("paper")).schedule.travel == (5, 20)
