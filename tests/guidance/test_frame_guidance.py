"""`frame_guidance` is what Frame Guidance's public code does to CogVideoX image-to-video, step by step.

`follow` is written from a description of that code alone, on the raw diffusers modules and in their layout
[1, F, C, H, W]; nothing of `physplan.guidance` or of the video adapters' arithmetic is used in it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from tests.guidance.frame_guidance_plans import at_anchors, keyframes
from torch import Tensor

from physplan.guidance import FRAME_GUIDANCE, Guide, Progress, Schedule, guide
from physplan_testing.pictures import ColourFeatures, ground_depth

VIDEO = (32, 32)

REPEATS, TRAVEL, ETA = (2, 1, 2, 0), (1, 2), 3
CONFIG = replace(
    FRAME_GUIDANCE,
    schedule=Schedule(repeats=REPEATS, travel=TRAVEL),
    step_size=ETA,
    noise_order="frame_guidance",  # a seed means the same as in its code
)


def follow(
    model, conditioning, guided: dict[int, Tensor], seed: int, image: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """Sample, guided towards frame -> picture: the last latents, and every clean estimate on the way."""
    transformer, vae, scheduler = model.denoiser, model.codec.vae, model.scheduler
    text, rotary = conditioning.inputs["text"], conditioning.inputs["rotary"]
    generator = torch.Generator().manual_seed(seed)

    # The draws: the picture's latent, that of a whole video, which is thrown away, and the initial noise.
    with torch.no_grad():
        picture = vae.encode(image[:, :, None]).latent_dist.sample(generator) * vae.config.scaling_factor
        vae.encode(image[:, :, None].repeat(1, 1, 17, 1, 1)).latent_dist.sample(generator)
    frames = conditioning.layout.num_latents
    latents = torch.randn(1, frames, *picture.shape[1:2], *picture.shape[3:], generator=generator)
    picture = picture.transpose(1, 2)
    picture = torch.cat([picture, torch.zeros(1, frames - 1, *picture.shape[2:])], dim=1)

    def predict(z: Tensor, t: Tensor) -> Tensor:
        batch = torch.cat([torch.cat([z] * 2), torch.cat([picture] * 2)], dim=2)
        v = transformer(
            hidden_states=batch,
            encoder_hidden_states=text,
            timestep=t.expand(2),
            image_rotary_emb=rotary,
            return_dict=False,
        )[0]
        unconditional, conditional = v.chunk(2)
        return unconditional + 6.0 * (conditional - unconditional)

    seen = []
    stride = scheduler.config.num_train_timesteps // len(scheduler.timesteps)
    for i, t in enumerate(scheduler.timesteps):
        before = t - stride
        abar = scheduler.alphas_cumprod[t].float()
        abar_before = (
            scheduler.alphas_cumprod[before] if before >= 0 else scheduler.final_alpha_cumprod
        ).float()
        a = ((1 - abar_before) / (1 - abar)) ** 0.5
        b = abar_before**0.5 - abar**0.5 * a
        for repeat in range(REPEATS[i] + 1):
            latents = latents.detach().requires_grad_()
            with torch.set_grad_enabled(repeat < REPEATS[i]):
                clean = abar**0.5 * latents - (1 - abar) ** 0.5 * predict(latents, t)
            seen.append(clean.detach())
            if repeat == REPEATS[i]:
                break
            loss = 0.0
            for frame, wanted in guided.items():
                j = (frame - 1) // 4 + 1
                if frame < 5:  # skipped there; here they have a window of their own
                    window, index = clean[:, 0:3], frame
                else:
                    window, index = clean[:, j - 2 : j + 1], (frame - 1) % 4 + 5
                decoded = vae.decode(window.transpose(1, 2) / vae.config.scaling_factor).sample
                loss = loss + F.mse_loss(decoded[0, :, index], wanted)
            (gradient,) = torch.autograd.grad(loss, latents)
            gradient = gradient / gradient.norm()
            with torch.no_grad():
                if TRAVEL[0] <= i <= TRAVEL[1]:
                    earlier = a * latents + b * clean - ETA * gradient
                    ratio = abar / abar_before
                    noise = torch.randn(latents.shape, generator=generator)
                    latents = ratio**0.5 * earlier + (1 - ratio) ** 0.5 * noise
                else:
                    latents = latents - ETA * gradient
        latents = (a * latents + b * clean).detach()
    return latents, seen


@pytest.mark.parametrize("fractions", [(0.4, 0.4), (0.1, 0.12)], ids=["frames 6 and 13", "frames 2 and 4"])
def test_every_repeat_equals_the_described_steps(model, prepare, chain, evidence, fractions):
    plan = at_anchors(chain, *fractions)
    conditioning, generator = prepare(seed=3)
    clean: list[Tensor] = []

    def collect(progress: Progress) -> None:
        clean.append(progress.clean)

    result = guide(
        model,
        conditioning,
        Guide(chain=plan, evidence=evidence, config=CONFIG),
        encoder=ColourFeatures(),
        depth=ground_depth,
        generator=generator,
        on_progress=collect,
    )
    guided = dict(zip(plan.anchors, keyframes(evidence, VIDEO), strict=True))
    expected, seen = follow(model, conditioning, guided, 3, _pixels(model))
    assert len(seen) == sum(REPEATS) + len(REPEATS) == len(clean)
    for ours, theirs in zip(clean, seen, strict=True):
        torch.testing.assert_close(ours.transpose(1, 2), theirs, rtol=1e-3, atol=2e-4)
    torch.testing.assert_close(result.latents.transpose(1, 2), expected, rtol=1e-3, atol=2e-4)
    # The start is noise drawn after a whole video's latent, not the noise that an unguided run starts from.
    assert not torch.allclose(clean[0], _first_estimate(model, conditioning), atol=1e-2)


def test_it_starts_from_the_noise_of_the_other_methods_unless_its_own_draws_are_asked_for(
    model, prepare, chain, evidence
):
    for config, same in ((FRAME_GUIDANCE, True), (CONFIG, False)):
        conditioning, generator = prepare(seed=3)
        starts: list[Tensor] = []
        guide(
            model,
            conditioning,
            Guide(
                chain=chain,
                evidence=evidence,
                config=replace(config, schedule=Schedule(repeats=(1,), travel=(5, 20))),
            ),
            encoder=ColourFeatures(),
            depth=ground_depth,
            generator=generator,
            on_progress=lambda seen, starts=starts: starts.append(seen.clean),
        )
        assert torch.allclose(starts[0], _first_estimate(model, conditioning), atol=1e-5) == same


def _pixels(model) -> Tensor:
    from PIL import Image
    from tests.scenes import MELTING_FIRST

    picture = Image.fromarray((MELTING_FIRST.permute(1, 2, 0) * 255).byte().numpy())
    return model.processor.preprocess(picture, height=VIDEO[0], width=VIDEO[1])


@torch.no_grad()
def _first_estimate(model, conditioning) -> Tensor:
    prediction = model.predict(conditioning.latents, 0, conditioning)
    return conditioning.noise.clean_estimate(conditioning.latents, prediction, 0)


def test_it_runs_without_classifier_free_guidance(model, prepare, chain, evidence):
    conditioning, generator = prepare(scale=1.0, steps=2)
    result = guide(
        model,
        conditioning,
        Guide(
            chain=chain,
            evidence=evidence,
            config=replace(CONFIG, schedule=Schedule(repeats=(1, 0), travel=(5, 20))),
        ),
        encoder=ColourFeatures(),
        depth=ground_depth,
        generator=generator,
    )
    assert conditioning.guidance == ()
    assert result.latents.isfinite().all()
    assert result.steps[0].update_norm == pytest.approx(3, abs=1e-4)


def test_a_preview_that_equals_the_keyframe_does_not_divide_by_zero():
    from physplan.guidance.paper.update import normalised

    assert not normalised(torch.zeros(1, 4, 3, 2, 2)).any()


def test_the_defaults_are_those_of_its_cogvideox_pipeline():
    assert FRAME_GUIDANCE.step_size == 3
    assert FRAME_GUIDANCE.schedule.travel == (5, 20)
    assert sum(FRAME_GUIDANCE.schedule.repeats) == 95
    assert FRAME_GUIDANCE.unconditional_grad
