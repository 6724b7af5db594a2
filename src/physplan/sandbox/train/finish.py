"""Trains the decoder once more, on what the drawing network leaves of clips: it mends that one's faults, and
a critic keeps its edges sharp."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from physplan.sandbox.models.autoencoder import FrameAutoencoder
from physplan.sandbox.models.drawing import DrawingNet
from physplan.sandbox.train.autoencoder import CLIPS, Crops, noisy_latents, pixel_loss
from physplan.sandbox.train.critic import Critic, criticised
from physplan.sandbox.train.data import cache_frames
from physplan.sandbox.train.loop import TrainConfig, train
from physplan.sandbox.train.noise import noise_steps, signal_left
from physplan.sandbox.train.video import Moments, busy_moments, estimate

CONFIG = TrainConfig(steps=4000, learning_rate=5e-4, batch=24, weight_decay=1e-4, ema=0.998, bf16=True)
LEAST, MOST = 20, 260  # noise steps from which the network's estimates are decoded


def run(
    folder: Path, weights: Path, *, config: TrainConfig = CONFIG, clips: int = CLIPS
) -> tuple[FrameAutoencoder, dict]:
    """Goes on with the autoencoder in `weights`, beside which the drawing network lies."""
    model = FrameAutoencoder.from_pretrained(weights / "autoencoder", torch_dtype=torch.float32)
    drawing = DrawingNet.from_pretrained(weights / "drawing", torch_dtype=torch.float32)
    drawing.eval().requires_grad_(False)
    crops, abar = Crops.of(cache_frames(folder, clips), folder), signal_left()
    critic = Critic()
    both = nn.ModuleDict({"decoder": model, "critic": critic})

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        shown = busy_moments(crops, config.batch, drawing.config.moments, rng)
        middle = 1 + drawing.config.moments.index(0)
        first, frames = shown.videos[:, :, 0], shown.videos[:, :, middle]
        if step % 3 == 0:  # what it could do before, it goes on doing
            latents = noisy_latents(model, frames, first, rng)
        else:
            latents = drawn_latents(model, drawing, shown, abar, rng)
        found = model.paint(latents)
        return criticised(critic, pixel_loss(found, frames, first), found, frames, first)

    return model, train(both, loss_at, config, folder, name="finish")


@torch.no_grad()
def drawn_latents(
    model: FrameAutoencoder, drawing: DrawingNet, shown: Moments, abar: Tensor, rng: np.random.Generator
) -> Tensor:
    """[B, C + 108, h, w]: a frame's latent as the network sees it through some noise."""
    with torch.autocast("cpu", enabled=False):
        picture = model.encode(shown.videos[:, :, :1])[:, :, 0]
    steps = noise_steps(len(shown.videos), LEAST, MOST, rng)
    guess, _ = estimate(drawing, shown, model, abar, steps)
    drawn = int(model.config.drawn)
    return torch.cat([picture[:, :drawn] + guess, picture[:, drawn:]], dim=1)
