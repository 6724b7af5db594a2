"""The noise under which the denoisers learn, and what counts as an error."""

from __future__ import annotations

import numpy as np
import torch
from diffusers import CogVideoXDDIMScheduler
from torch import Tensor

from physplan.sandbox.models.departures import Spread

SHARP = 0.1  # the smaller, the more the last steps count, those that draw the edges


def build_scheduler() -> CogVideoXDDIMScheduler:
    return CogVideoXDDIMScheduler(
        num_train_timesteps=1000,
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        snr_shift_scale=1.0,
        timestep_spacing="trailing",
        clip_sample=False,
        set_alpha_to_one=True,
    )


def signal_left() -> Tensor:
    """[1000]: the share of variance that is signal, at each noise step."""
    return build_scheduler().alphas_cumprod.float()


def noise_steps(batch: int, low: int, high: int, rng: np.random.Generator) -> Tensor:
    """Evenly spread: less variance than independent draws."""
    levels = (rng.permutation(batch) + rng.random(batch)) / batch
    return torch.from_numpy((low + levels * (high - low)).astype(np.int64))


def departure_loss(guess: Tensor, departure: Tensor, spread: Spread, sigma: Tensor) -> Tensor:
    """Counted more where the clip departs from its first frame, and at little noise."""
    weight = 1.0 + 4.0 * departure.square().mean(dim=1, keepdim=True).sqrt().clamp(max=1.0)
    error = (guess - departure).square() / spread.overall.mean() / (sigma**2 + SHARP)
    return (error * weight).sum() / (weight.sum() * spread.channels)
