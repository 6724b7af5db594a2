"""The closed forms: equal to the schedulers, repeatable, statistically right (what must be true, 4 and 5)."""

from __future__ import annotations

import math
from collections.abc import Callable

import diffusers
import pytest
import torch
from PIL.Image import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan.video.noise import EDM, Flow, VariancePreserving
from physplan.video.protocol import NoiseFamily
from physplan_testing.tiny_models import prepare


def ddim(steps: int = 10) -> diffusers.CogVideoXDDIMScheduler:
    scheduler = diffusers.CogVideoXDDIMScheduler(
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        timestep_spacing="trailing",
        snr_shift_scale=1.0,
    )
    scheduler.set_timesteps(steps)
    return scheduler


def flow(steps: int = 10) -> diffusers.FlowMatchEulerDiscreteScheduler:
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0)
    scheduler.set_timesteps(steps)
    return scheduler


def euler(steps: int = 10) -> diffusers.EulerDiscreteScheduler:
    scheduler = diffusers.EulerDiscreteScheduler(
        prediction_type="v_prediction", use_karras_sigmas=True, sigma_min=0.002, sigma_max=700.0,
        timestep_type="continuous", timestep_spacing="leading", steps_offset=1,
    )  # fmt: skip
    scheduler.set_timesteps(steps)
    return scheduler


FAMILIES: dict[str, tuple[Callable, Callable]] = {
    "variance preserving": (VariancePreserving.from_scheduler, ddim),
    "flow": (Flow.from_scheduler, flow),
    "EDM": (EDM.from_scheduler, euler),
}


@pytest.fixture(params=list(FAMILIES))
def noise(request: pytest.FixtureRequest) -> NoiseFamily:
    make, scheduler = FAMILIES[request.param]
    return make(scheduler())


def perfect(noise: NoiseFamily, z: Tensor, clean: Tensor, n: int) -> Tensor:
    """The prediction of a denoiser that knows z_0."""
    alpha, sigma = noise.alpha(n), noise.sigma(n)
    xi = (z - alpha * clean) / sigma
    if isinstance(noise, VariancePreserving):
        return alpha * xi - sigma * clean
    if isinstance(noise, Flow):
        return xi - clean
    return (z / (sigma**2 + 1) - clean) * math.sqrt(sigma**2 + 1) / sigma


@pytest.mark.parametrize(("kind", "steps"), [(kind, s) for kind in FAMILIES for s in (3, 10)])
def test_a_step_is_the_schedulers_step(kind: str, steps: int) -> None:
    """Also with 3 steps, where the scheduler of CogVideoX rounds and lands beside the next level."""
    make, scheduler_of = FAMILIES[kind]
    scheduler = scheduler_of(steps)
    noise = make(scheduler)
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(1, 2, 3, 4, 4, generator=generator)
    for n, t in enumerate(scheduler.timesteps):
        prediction = torch.randn(z.shape, generator=generator)
        if kind == "EDM":
            scheduler.scale_model_input(z, t)  # it warns without
        result = scheduler.step(prediction, t, z)
        assert torch.allclose(noise.step(z, prediction, n), result.prev_sample, atol=1e-5)
        if hasattr(result, "pred_original_sample"):
            assert torch.allclose(
                noise.clean_estimate(z, prediction, n), result.pred_original_sample, atol=1e-5
            )
        z = result.prev_sample


@pytest.mark.parametrize("eta", [0.0, 0.4, 1.0])
def test_a_step_with_an_eta_is_that_of_the_ddim_scheduler(eta: float) -> None:
    # Not with zero terminal SNR, where the library's first step with an eta is NaN.
    scheduler = diffusers.DDIMScheduler(prediction_type="v_prediction", clip_sample=False)
    scheduler.set_timesteps(10)
    noise = VariancePreserving.from_scheduler(scheduler, eta=eta)
    for n, t in enumerate(scheduler.timesteps[:-1]):
        z, prediction, xi = torch.randn(3, 1, 2, 3, 4, 4, generator=torch.Generator().manual_seed(n))
        wanted = scheduler.step(prediction, t, z, eta=eta, variance_noise=xi).prev_sample
        assert torch.allclose(noise.step(z, prediction, n, xi), wanted, atol=1e-5)


def test_a_step_with_an_eta_lands_on_the_forward_process() -> None:
    noise = VariancePreserving.from_scheduler(ddim(), eta=1.0)
    generator = torch.Generator().manual_seed(0)
    clean = torch.full((1, 1, 1, 300, 300), 0.7)
    for n in range(noise.num_steps - 1):
        xi, fresh = torch.randn(2, *clean.shape, generator=generator)
        z = noise.add_noise(clean, n, xi)
        landed = noise.step(z, perfect(noise, z, clean, n), n, fresh)
        assert landed.mean() == pytest.approx(0.7 * math.sqrt(noise.landing[n]), abs=0.02)
        assert landed.var() == pytest.approx(1 - noise.landing[n], abs=0.02)


def test_a_step_may_be_repeated(noise: NoiseFamily) -> None:
    z, prediction = torch.randn(2, 1, 2, 3, 4, 4)
    first = noise.step(z, prediction, 4)
    noise.step(z, prediction, 7)
    assert torch.equal(noise.step(z, prediction, 4), first)


def test_renoised_latents_have_the_mean_and_variance_of_the_forward_process(noise: NoiseFamily) -> None:
    """100,000 samples of one pixel: from z_0 to the next level, then back by re-noising."""
    generator, count, clean_value = torch.Generator().manual_seed(1), 100_000, 1.5
    clean = torch.full((1, 1, count, 1, 1), clean_value)
    for n in (1, 4, noise.num_steps - 1):
        z = noise.add_noise(clean, n, torch.randn(clean.shape, generator=generator))
        xi = torch.randn(clean.shape, generator=generator)
        again = noise.travel(z, perfect(noise, z, clean, n), n, xi)
        sigma = noise.sigma(n)
        # Five standard errors: a right implementation fails once in two million runs.
        assert abs(again.mean() - noise.alpha(n) * clean_value) < 5 * sigma / math.sqrt(count)
        assert abs(again.var() - sigma**2) < 5 * sigma**2 * math.sqrt(2 / count)


def test_renoising_and_a_perfect_denoiser_give_back_the_clean_latents(noise: NoiseFamily) -> None:
    generator = torch.Generator().manual_seed(2)
    clean = torch.randn(1, 2, 3, 4, 4, generator=generator, dtype=torch.float64)
    for n in range(noise.num_steps):
        z = noise.add_noise(clean, n, torch.randn(clean.shape, generator=generator, dtype=torch.float64))
        xi = torch.randn(clean.shape, generator=generator, dtype=torch.float64)
        again = noise.travel(z, perfect(noise, z, clean, n), n, xi)
        estimate = noise.clean_estimate(again, perfect(noise, again, clean, n), n)
        assert torch.allclose(estimate, clean, atol=1e-4)


def test_a_flow_travels_by_fresh_noise_on_its_clean_estimate_as_frame_guidance_does_with_wan() -> None:
    noise = Flow(sigmas=(1.0, 0.7, 0.4, 0.0))
    z, v, xi, update = torch.randn(4, 1, 2, 3, 4, 4)
    expected = 0.7 * xi + 0.3 * (z - 0.7 * v) - update
    torch.testing.assert_close(noise.travel(z, v, 1, xi, after=update), expected)


def test_the_last_step_lands_on_the_clean_estimate(noise: NoiseFamily) -> None:
    z, prediction = torch.randn(2, 1, 2, 3, 4, 4)
    last = noise.num_steps - 1
    estimate = noise.clean_estimate(z, prediction, last)
    assert torch.allclose(noise.step(z, prediction, last), estimate, atol=2e-2)


@pytest.mark.parametrize("kind", list(FAMILIES))
def test_a_frozen_latent_gets_no_noise_and_no_gradient(kind: str) -> None:
    make, scheduler = FAMILIES[kind]
    noise = make(scheduler(), frozen=1)
    z = torch.randn(1, 2, 3, 4, 4, requires_grad=True)
    prediction, xi = torch.randn(2, 1, 2, 3, 4, 4)
    for result in (
        noise.add_noise(z, 3, xi),
        noise.clean_estimate(z, prediction, 3),
        noise.step(z, prediction, 3),
        noise.travel(z, prediction, 3, xi),
    ):
        assert torch.equal(result[:, :, 0], z[:, :, 0])
        gradient = torch.autograd.grad(result.sum(), z)[0]
        assert (gradient[:, :, 0] == 0).all()
        assert (gradient[:, :, 1:] != 0).all()


def test_zero_terminal_snr_starts_finite(load: Callable[..., FamilyModel], picture: Image) -> None:
    """abar = 0 at the first step: z_0 is -v, re-noising gives pure noise, nothing divides by zero."""
    noise = VariancePreserving.from_scheduler(ddim())
    assert noise.signal[0] == 0
    z, v, xi = torch.randn(3, 1, 2, 3, 4, 4)
    assert torch.equal(noise.clean_estimate(z, v, 0), -v)
    assert torch.equal(noise.travel(z, v, 0, xi), xi)

    model = load("cogvideox")
    conditioning = prepare(model, picture)
    assert conditioning.noise.alpha(0) == 0
    z = conditioning.latents.requires_grad_()
    prediction = model.predict(z, 0, conditioning)
    clean = conditioning.noise.clean_estimate(z, prediction, 0)
    landed = conditioning.noise.step(z, prediction, 0)
    gradient = torch.autograd.grad(clean.sum() + landed.sum(), z)[0]
    for tensor in (prediction, clean, landed, gradient):
        assert torch.isfinite(tensor).all()


def test_a_scheduler_of_another_prediction_type_is_refused() -> None:
    scheduler = diffusers.CogVideoXDDIMScheduler(prediction_type="epsilon")
    with pytest.raises(PhysPlanError, match="'epsilon', but this family needs 'v_prediction'"):
        VariancePreserving.from_scheduler(scheduler)
