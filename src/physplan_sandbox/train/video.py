"""Train the video model's denoisers on clips with random outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from physplan_sandbox.models.autoencoder import CELL_SIZE, FrameAutoencoder
from physplan_sandbox.models.copying import BLOCK_STRIDE
from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.models.outline import BLOCK_NOISE_SCALE, HANDOFF_TIMESTEP, OutlineNet
from physplan_sandbox.models.residual_prediction import ResidualStats
from physplan_sandbox.train.autoencoder import CROP_CELLS, Crops, to_input
from physplan_sandbox.train.data import cache_frames
from physplan_sandbox.train.half_rate_clips import clip_sampler, spatial_mean
from physplan_sandbox.train.loop import StepLoss, TrainConfig
from physplan_sandbox.train.noise import alphas_cumprod, noise_steps, residual_loss

OUTLINE = TrainConfig(steps=20_000, learning_rate=4e-4, batch=32, warmup=100, ema=0.998, bf16=True)
CONTOUR = TrainConfig(steps=8_000, learning_rate=8e-4, batch=64, warmup=100, ema=0.998, bf16=True)
DRAWING = TrainConfig(steps=20_000, learning_rate=1e-3, batch=48, warmup=100, ema=0.998, bf16=True)
LAST_FRAMES_PROB, LAST_FRAMES = (0.15, 4)  # share of samples from the last frames, which lack neighbours
HIGH_NOISE_PROB = 0.4  # share of outline samples at very high noise
HANDOFF_OVERLAP = 60  # timesteps each denoiser is trained on beyond its own range
CROPS_PER_CLIP = 4  # in a batch
BLUR_PROB, BLUR_RANGE = 0.4, 180  # share of inputs blurred like outlines; timesteps below the handoff


def estimate(
    denoiser: DrawingNet, shown: Moments, frozen: FrameAutoencoder, abar: Tensor, steps: Tensor
) -> tuple[Tensor, Tensor]:
    """Predicted and true residual [B, C, h, w] of noised frames."""
    spread = ResidualStats.of(frozen.departs, frozen.departs_moving)
    with torch.autocast("cpu", enabled=False):
        picture, clean = frozen.encode(shown.videos[:, :, :1])[:, :, 0], frozen.coarse(shown.videos[:, :, 1:])
        blocks = frozen.blocks(shown.pictures, BLOCK_STRIDE)
    alpha, sigma = (x[steps].sqrt() for x in (abar, 1 - abar))
    wide_alpha, wide_sigma = (x.view(-1, 1, 1, 1, 1) for x in (alpha, sigma))
    residual = clean - picture[:, : spread.channels, None]
    noisy = wide_alpha * blurred(residual, steps) + wide_sigma * torch.randn_like(residual)
    noisy = noisy * shown.known[:, None, :, None, None]
    guess = denoiser(noisy, picture, blocks, steps, spread, alpha, sigma, shown.corners)
    return guess, residual[:, :, denoiser.config.moments.index(0)]


def blurred(residual: Tensor, steps: Tensor) -> Tensor:
    """Blend a share of inputs near the handoff with their block means, as outlines arrive there."""
    chosen = (torch.rand(len(steps)) < BLUR_PROB) & (steps > HANDOFF_TIMESTEP - BLUR_RANGE)
    share = (torch.rand(len(steps)) * chosen).view(-1, 1, 1, 1, 1)
    coarse = F.interpolate(F.avg_pool3d(residual, (1, 2, 2)), scale_factor=(1.0, 2.0, 2.0))
    return residual + share * (coarse - residual)


def outline_loss(
    denoiser: OutlineNet,
    residual: Tensor,
    picture: Tensor,
    blocks: Tensor,
    text: Tensor,
    abar: Tensor,
    steps: Tensor,
    spread: ResidualStats,
    outcome_codes: Tensor,
) -> Tensor:
    """Loss on downsampled clips: residuals [B, C, k, h, w], first frames [B, C, 2h, 2w]."""
    alpha, sigma = abar[steps].sqrt(), BLOCK_NOISE_SCALE * (1 - abar[steps]).sqrt()
    wide = sigma.view(-1, 1, 1, 1, 1)
    noisy = alpha.view(-1, 1, 1, 1, 1) * residual + wide * torch.randn_like(residual)
    guess = denoiser(noisy, picture, blocks, steps, text, spread, alpha, sigma, outcome_codes)
    return residual_loss(guess, residual, spread, wide)


@dataclass(frozen=True)
class Moments:
    """Crops of frames and their temporal neighbours, sampled by motion."""

    videos: Tensor  # [B, 3, 1 + moments, 48, 48]: first frame, then a frame and its neighbours
    known: Tensor  # [B, moments]: False for neighbours beyond the clip
    corners: Tensor  # [B, 2]: first cell of the crop
    pictures: Tensor  # [P, 3, 96, 96]: first frames, each shared by B / P crops


def busy_moments(crops: Crops, batch: int, moments: Sequence[int], rng: np.random.Generator) -> Moments:
    last, places = crops.frames.shape[1] - 1, crops.frames.shape[2] // CELL_SIZE - CROP_CELLS
    videos, known, corners, pictures = [], [], [], []
    for clip in crops.draw_clips(batch // CROPS_PER_CLIP, rng):
        mirrored = rng.random() < 0.5
        whole = crops.frames[clip][:, :, :: -1 if mirrored else 1]
        pictures.append(whole[0])
        for busy, y, x in crops.draw_in(clip, CROPS_PER_CLIP, rng):
            time = int(last - rng.integers(LAST_FRAMES)) if rng.random() < LAST_FRAMES_PROB else max(busy, 1)
            y, x = 2 * (y // 2), 2 * ((places - x if mirrored else x) // 2)
            rows, columns = (slice(CELL_SIZE * k, CELL_SIZE * (k + CROP_CELLS)) for k in (y, x))
            times = [0, *(min(max(time + moment, 0), last) for moment in moments)]
            videos.append(to_input(whole[times, rows, columns].copy()).transpose(0, 1))
            known.append([0 < time + moment <= last for moment in moments])
            corners.append((y, x))
    return Moments(
        torch.stack(videos), torch.tensor(known), torch.tensor(corners), to_input(np.stack(pictures))
    )


def outline_steps(batch: int, rng: np.random.Generator) -> Tensor:
    """Stratified timesteps, a share of them moved to very high noise."""
    steps = noise_steps(batch, HANDOFF_TIMESTEP - HANDOFF_OVERLAP, 1000, rng)
    hidden = torch.from_numpy(rng.random(batch) < HIGH_NOISE_PROB)
    return torch.where(hidden, 1000 - (1000 - steps) // 4, steps).clamp(max=999)


def learn_drawing(
    denoiser: DrawingNet,
    frozen: FrameAutoencoder,
    folder: Path,
    clips: int,
    config: TrainConfig,
    weights: Path,
) -> StepLoss:
    spread, abar = ResidualStats.of(frozen.departs, frozen.departs_moving), alphas_cumprod()
    crops, moments = Crops.of(cache_frames(folder, clips), folder), denoiser.config.moments

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        shown = busy_moments(crops, config.batch, moments, rng)
        steps = noise_steps(config.batch, 0, HANDOFF_TIMESTEP + HANDOFF_OVERLAP, rng)
        guess, residual = estimate(denoiser, shown, frozen, abar, steps)
        sigma = (1 - abar[steps]).sqrt().view(-1, 1, 1, 1)
        return residual_loss(guess, residual, spread.flat(), sigma)

    return loss_at


def learn_outline(
    denoiser: OutlineNet,
    frozen: FrameAutoencoder,
    folder: Path,
    clips: int,
    config: TrainConfig,
    weights: Path,
) -> StepLoss:
    spread, abar = ResidualStats.of(frozen.outlines, frozen.outlines_moving), alphas_cumprod()
    draw = clip_sampler(folder, clips, frozen)

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        shown = draw(config.batch, rng, False)
        residual, picture = spatial_mean(shown.residuals), shown.pictures[:, : spread.channels]
        steps = outline_steps(config.batch, rng)
        return outline_loss(
            denoiser, residual, picture, shown.blocks, shown.text, abar, steps, spread, shown.outcome_codes
        )

    return loss_at
