"""Fine-tune the decoder on the drawing network's predictions with an adversarial loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from physplan_sandbox.models.autoencoder import FrameAutoencoder
from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.train.autoencoder import CLIP_COUNT, Crops, noisy_latents, pixel_loss
from physplan_sandbox.train.critic import Critic, adversarial_loss
from physplan_sandbox.train.data import cache_frames
from physplan_sandbox.train.loop import TrainConfig, train
from physplan_sandbox.train.noise import alphas_cumprod, noise_steps
from physplan_sandbox.train.video import Moments, busy_moments, estimate

CONFIG = TrainConfig(steps=4000, learning_rate=5e-4, batch=24, weight_decay=1e-4, ema=0.998, bf16=True)
MIN_TIMESTEP, MAX_TIMESTEP = 20, 260  # timesteps of the decoded predictions


def run(
    folder: Path, weights: Path, *, config: TrainConfig = CONFIG, clips: int = CLIP_COUNT
) -> tuple[FrameAutoencoder, dict]:
    """Fine-tunes the autoencoder in `weights`, given the drawing network next to it."""
    model = FrameAutoencoder.from_pretrained(weights / "autoencoder", torch_dtype=torch.float32)
    drawing = DrawingNet.from_pretrained(weights / "drawing", torch_dtype=torch.float32)
    drawing.eval().requires_grad_(False)
    crops, abar = Crops.of(cache_frames(folder, clips), folder), alphas_cumprod()
    critic = Critic()
    both = nn.ModuleDict({"decoder": model, "critic": critic})

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        shown = busy_moments(crops, config.batch, drawing.config.moments, rng)
        middle = 1 + drawing.config.moments.index(0)
        first, frames = shown.videos[:, :, 0], shown.videos[:, :, middle]
        if step % 3 == 0:  # rehearsal of the original task
            latents = noisy_latents(model, frames, first, rng)
        else:
            latents = drawn_latents(model, drawing, shown, abar, rng)
        found = model.paint(latents)
        return adversarial_loss(critic, pixel_loss(found, frames, first), found, frames, first)

    return model, train(both, loss_at, config, folder, name="finish")


@torch.no_grad()
def drawn_latents(
    model: FrameAutoencoder, drawing: DrawingNet, shown: Moments, abar: Tensor, rng: np.random.Generator
) -> Tensor:
    """[B, C + 108, h, w]: latents as the drawing network predicts them from noised frames."""
    with torch.autocast("cpu", enabled=False):
        picture = model.encode(shown.videos[:, :, :1])[:, :, 0]
    steps = noise_steps(len(shown.videos), MIN_TIMESTEP, MAX_TIMESTEP, rng)
    guess, _ = estimate(drawing, shown, model, abar, steps)
    drawn = int(model.config.drawn)
    return torch.cat([picture[:, :drawn] + guess, picture[:, drawn:]], dim=1)
