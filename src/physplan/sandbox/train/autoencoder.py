"""Trains the autoencoder on groups of four neighbouring frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.sandbox.models.autoencoder import GROUP, FrameGroupAutoencoder
from physplan.sandbox.train.data import cache_frames
from physplan.sandbox.train.loop import TrainConfig, train

CONFIG = TrainConfig(steps=2400, learning_rate=1.5e-3, batch=12, weight_decay=1e-4, ema=0.998)
GAIN = 18.75  # makes the variance of what moves about 1, as the mean over the channels
PUSH = 0.3
NOISE = 0.05  # added to the latents, so that the decoder bears what a denoiser leaves


def reconstruction_loss(model: FrameGroupAutoencoder, groups: Tensor) -> Tensor:
    """Squared and absolute error, edges counted again. groups: [B, 12, H, W] in [-1, 1]."""
    latents = model.encoder(groups)
    spread = latents.std(dim=(0, 2, 3), keepdim=True).detach().clamp(min=1e-3)
    out = model.decoder(latents + NOISE * spread * torch.randn_like(latents))
    error = out - groups
    edges = sum(torch.diff(error, dim=d).abs().mean() for d in (2, 3))
    return (
        4.0 * F.mse_loss(out, groups)
        + 0.4 * error.abs().mean()
        + 0.3 * edges
        + 1e-4 * latents.square().mean()
    )


def run(
    folder: Path, *, config: TrainConfig = CONFIG, clips: int = 2400
) -> tuple[FrameGroupAutoencoder, dict]:
    frames = cache_frames(folder, clips)
    torch.manual_seed(config.seed)
    model = FrameGroupAutoencoder().to(memory_format=torch.channels_last)
    model.start_from_principal_components(sample_groups(frames, 256, np.random.default_rng(1)))

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        return reconstruction_loss(model, sample_groups(frames, config.batch, rng))

    figures = train(model, loss_at, config, folder, name="autoencoder")
    standardise(model, frames)
    return model, figures


def sample_groups(frames: np.ndarray, batch: int, rng: np.random.Generator) -> Tensor:
    """Aligned groups of random clips; one in seven is a first frame, repeated."""
    picked = []
    for clip in rng.integers(len(frames), size=batch):
        group = int(rng.integers(0, (frames.shape[1] - 1) // GROUP + 1))
        rows = [0] * GROUP if group == 0 else range(1 + (group - 1) * GROUP, 1 + group * GROUP)
        picked.append(frames[clip][list(rows)])
    return to_input(np.stack(picked))


def to_input(groups: np.ndarray) -> Tensor:
    """uint8 [B, 4, H, W, 3] -> float [B, 12, H, W] in [-1, 1]."""
    return torch.from_numpy(groups).permute(0, 1, 4, 2, 3).flatten(1, 2).float() / 127.5 - 1.0


@torch.no_grad()
def standardise(model: FrameGroupAutoencoder, frames: np.ndarray) -> None:
    """Zero mean for every latent channel, and the spread that its share in the picture deserves.

    With channels of equal spread, noise would drown the outline of a scene together with its finest detail,
    and a denoiser would have to find both at once. So a channel is scaled by how far pixels move with it.
    """
    groups = sample_groups(frames, 512, np.random.default_rng(0))
    latents = torch.cat([model.encoder(chunk) for chunk in groups.split(32)])
    model.latent_mean.copy_(latents.mean(dim=(0, 2, 3)))
    spread = latents.std(dim=(0, 2, 3))
    model.latent_std.copy_(spread / (GAIN * sensitivity(model, latents[:32], spread)))


def sensitivity(model: FrameGroupAutoencoder, latents: Tensor, spread: Tensor) -> Tensor:
    """By how much pixels change when a channel changes by its own spread, per channel."""
    before, moved = model.decoder(latents), []
    generator = torch.Generator().manual_seed(0)
    for channel, width in enumerate(spread.tolist()):
        pushed = latents.clone()
        pushed[:, channel] += PUSH * width * torch.randn(pushed[:, channel].shape, generator=generator)
        moved.append((model.decoder(pushed) - before).square().mean().sqrt() / PUSH)
    return torch.stack(moved)
