"""Trains the video model's two denoisers on clips whose outcome is drawn whatever the scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import CogVideoXDDIMScheduler
from numpy.typing import NDArray
from torch import Tensor, nn

from physplan.sandbox.models.autoencoder import CELL, FrameAutoencoder
from physplan.sandbox.models.departures import Spread
from physplan.sandbox.models.drawing import DrawingNet
from physplan.sandbox.models.outline import MUCH, QUIETER, OutlineNet, shrink
from physplan.sandbox.models.text import build_text_encoder, build_tokenizer, encode_prompts
from physplan.sandbox.train.autoencoder import CROP, Crops, to_input
from physplan.sandbox.train.data import cache_frames, cached_prompts
from physplan.sandbox.train.loop import StepLoss, TrainConfig, train
from physplan.sandbox.world.phenomena import PHENOMENA
from physplan.sandbox.world.render import FRAMES

OUTLINE = TrainConfig(steps=20_000, learning_rate=8e-4, batch=32, warmup=100, ema=0.998, bf16=True)
DRAWING = TrainConfig(steps=20_000, learning_rate=1e-3, batch=48, warmup=100, ema=0.998, bf16=True)
CLIPS = 8000
ENDS, ENDING = 0.2, 4  # share of the moments that are of the last frames, which lack neighbours; how many
NO_WORDS = 0.12  # share of the clips trained without their prompt, for classifier-free guidance
OVERLAP = 60  # noise steps that each denoiser learns beyond those where it is asked
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


def all_prompts() -> list[str]:
    """The empty prompt first."""
    return ["", *(prompt for p in PHENOMENA.values() for prompt in p.prompts)]


def estimate(
    denoiser: DrawingNet,
    clean: Tensor,
    times: Tensor,
    picture: Tensor,
    abar: Tensor,
    steps: Tensor,
    spread: Spread,
) -> tuple[Tensor, Tensor]:
    """A frame's departure [B, C, h, w] as the network finds it under noise, and as it is; from latents of the
    frame and its neighbours [B, C, moments, h, w], which frames these are [B, moments], and their picture's
    latent [B, C + 108, h, w]."""
    alpha, sigma = (x[steps].sqrt().view(-1, 1, 1, 1) for x in (abar, 1 - abar))
    departed = clean - picture[:, : spread.channels, None]
    # A frame that stands for a missing neighbour comes with the noise that it has in its own place.
    each = torch.randn(*departed.shape[:2], FRAMES, *departed.shape[3:])
    noise = torch.gather(each, 2, times[:, None, :, None, None].expand_as(departed))
    noisy = alpha[..., None] * departed + sigma[..., None] * noise
    shown = (spread.inn(alpha[..., None], sigma[..., None]) * noisy).transpose(1, 2).flatten(1, 2)
    middle = denoiser.config.moments.index(0)
    found = denoiser(shown, picture, steps).float()
    return spread.flat().departure(found, noisy[:, :, middle], alpha, sigma), departed[:, :, middle]


def outline_loss(
    denoiser: OutlineNet, clean: Tensor, text: Tensor, abar: Tensor, steps: Tensor, spread: Spread
) -> Tensor:
    """Of whole clips' latents [B, C, F, h, w]."""
    picture = clean[:, :, :1]
    departure = shrink(clean - picture)
    alpha, sigma = (x[steps].sqrt().view(-1, 1, 1, 1, 1) for x in (abar, 1 - abar))
    sigma = QUIETER * sigma
    noisy = alpha * departure + sigma * torch.randn_like(departure)
    found = denoiser(spread.inn(alpha, sigma) * noisy, picture[:, :, 0], steps, text)
    return departure_loss(spread.departure(found.float(), noisy, alpha, sigma), departure, spread, sigma)


def departure_loss(guess: Tensor, departure: Tensor, spread: Spread, sigma: Tensor) -> Tensor:
    """Counted more where the clip departs from its first frame, and at little noise."""
    weight = 1.0 + 4.0 * departure.square().mean(dim=1, keepdim=True).sqrt().clamp(max=1.0)
    error = (guess - departure).square() / spread.overall.mean() / (sigma**2 + SHARP)
    return (error * weight).sum() / (weight.sum() * spread.channels)


def busy_moments(
    crops: Crops, batch: int, moments: Sequence[int], rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Pixels [B, 3, 1 + moments, 48, 48], drawn where much moves: the picture, and a frame with neighbours;
    and which frames these are, [B, moments]."""
    last, found, places = crops.frames.shape[1] - 1, [], []
    for clip, busy, y, x in crops.draw(batch, rng):
        time = int(last - rng.integers(ENDING)) if rng.random() < ENDS else busy
        rows, columns = (slice(CELL * k, CELL * (k + CROP)) for k in (y, x))
        times = [0, *(min(max(time + moment, 0), last) for moment in moments)]
        shown = crops.frames[clip][times, rows, columns]
        if rng.random() < 0.5:
            shown = shown[:, :, ::-1].copy()
        found.append(to_input(shown).transpose(0, 1))
        places.append(times[1:])
    return torch.stack(found), torch.tensor(places)


def run(
    part: str,
    folder: Path,
    autoencoder: Path,
    *,
    config: TrainConfig | None = None,
    clips: int = CLIPS,
    start: Path | None = None,
) -> tuple[nn.Module, dict]:
    """One of the two denoisers, from nothing or from the weights in `start`."""
    build, usual, make_loss = NETWORKS[part]
    config = config or usual
    torch.manual_seed(config.seed)
    denoiser = build()
    if start is not None:
        denoiser = type(denoiser).from_pretrained(start, torch_dtype=torch.float32)
    frozen = FrameAutoencoder.from_pretrained(autoencoder, torch_dtype=torch.float32).requires_grad_(False)
    clips_seen = Clips.of(folder, clips, frozen)
    return denoiser, train(denoiser, make_loss(denoiser, clips_seen, config), config, folder, name=part)


@dataclass(frozen=True)
class Clips:
    """What both denoisers learn from."""

    crops: Crops
    prompts: NDArray[np.int64]
    embeddings: Tensor
    frozen: FrameAutoencoder
    abar: Tensor

    @classmethod
    def of(cls, folder: Path, count: int, frozen: FrameAutoencoder) -> Clips:
        words = all_prompts()
        embeddings = encode_prompts(build_tokenizer(), build_text_encoder(), words)
        crops = Crops.of(cache_frames(folder, count), folder)
        prompts = np.array([words.index(prompt) for prompt in cached_prompts(folder, count)])
        return cls(crops, prompts, embeddings, frozen, build_scheduler().alphas_cumprod.float())

    def latents(self, videos: Tensor) -> Tensor:
        with torch.autocast("cpu", enabled=False):
            return self.frozen.coarse(videos)

    def text(self, chosen: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        """In a share of the clips no words."""
        names = np.where(rng.random(len(chosen)) < NO_WORDS, 0, self.prompts[chosen])
        return self.embeddings[torch.from_numpy(names)]


def noise_steps(batch: int, low: int, high: int, rng: np.random.Generator) -> Tensor:
    """Evenly spread: less variance than independent draws."""
    levels = (rng.permutation(batch) + rng.random(batch)) / batch
    return torch.from_numpy((low + levels * (high - low)).astype(np.int64))


def learn_drawing(denoiser: DrawingNet, clips: Clips, config: TrainConfig) -> StepLoss:
    spread = Spread.of(clips.frozen.departs, clips.frozen.departs_moving)
    moments = denoiser.config.moments

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        videos, times = busy_moments(clips.crops, config.batch, moments, rng)
        with torch.autocast("cpu", enabled=False):
            picture = clips.frozen.encode(videos[:, :, :1])[:, :, 0]
        steps = noise_steps(config.batch, 0, MUCH + OVERLAP, rng)
        clean = clips.latents(videos[:, :, 1:])
        guess, departure = estimate(denoiser, clean, times, picture, clips.abar, steps, spread)
        sigma = (1 - clips.abar[steps]).sqrt().view(-1, 1, 1, 1)
        return departure_loss(guess, departure, spread.flat(), sigma)

    return loss_at


def learn_outline(denoiser: OutlineNet, clips: Clips, config: TrainConfig) -> StepLoss:
    spread = Spread.of(clips.frozen.outlines, clips.frozen.outlines_moving)
    frames = clips.crops.frames

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        chosen = rng.choice(len(frames), config.batch, replace=False)
        clean = torch.cat([clips.latents(to_input(frames[k]).transpose(0, 1)[None]) for k in chosen])
        steps = noise_steps(config.batch, MUCH - OVERLAP, 1000, rng)
        return outline_loss(denoiser, clean, clips.text(chosen, rng), clips.abar, steps, spread)

    return loss_at


#: How each is built, its usual training, and what it learns.
NETWORKS: dict[str, tuple[Any, TrainConfig, Callable[[Any, Clips, TrainConfig], StepLoss]]] = {
    "outline": (OutlineNet, OUTLINE, learn_outline),
    "drawing": (DrawingNet, DRAWING, learn_drawing),
}
