"""Noise schedule and loss of the denoisers."""

from __future__ import annotations

import numpy as np
import torch
from diffusers import CogVideoXDDIMScheduler
from torch import Tensor

from physplan_sandbox.models.residual_prediction import ResidualStats

LOSS_NOISE_FLOOR = 0.1  # loss weight is 1 / (sigma^2 + this): smaller values favour low noise


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


def alphas_cumprod() -> Tensor:
    """[1000]: alpha-bar of the scheduler."""
    return build_scheduler().alphas_cumprod.float()


def noise_steps(batch: int, low: int, high: int, rng: np.random.Generator) -> Tensor:
    """Stratified timesteps [batch] in [low, high): less variance than independent ones."""
    levels = (rng.permutation(batch) + rng.random(batch)) / batch
    return torch.from_numpy((low + levels * (high - low)).astype(np.int64))


def residual_loss(guess: Tensor, residual: Tensor, spread: ResidualStats, sigma: Tensor) -> Tensor:
    """Squared error, weighted by motion and by 1 / (sigma^2 + floor)."""
    weight = 1.0 + 4.0 * residual.square().mean(dim=1, keepdim=True).sqrt().clamp(max=1.0)
    error = (guess - residual).square() / spread.overall.mean() / (sigma**2 + LOSS_NOISE_FLOOR)
    return (error * weight).sum() / (weight.sum() * spread.channels)
