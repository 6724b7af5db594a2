"""Trains the video model's denoisers on clips whose outcome is drawn whatever the scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from physplan.sandbox.models.autoencoder import CELL, FrameAutoencoder
from physplan.sandbox.models.contour import build_contour
from physplan.sandbox.models.copying import STRIDE
from physplan.sandbox.models.departures import Spread
from physplan.sandbox.models.drawing import DrawingNet
from physplan.sandbox.models.outline import MUCH, QUIETER, OutlineNet
from physplan.sandbox.models.packed import load_packed
from physplan.sandbox.train.autoencoder import CROP, Crops, to_input
from physplan.sandbox.train.contour import learn_contour
from physplan.sandbox.train.data import cache_frames
from physplan.sandbox.train.halves import smaller, whole_clips
from physplan.sandbox.train.loop import StepLoss, TrainConfig, train
from physplan.sandbox.train.noise import departure_loss, noise_steps, signal_left

OUTLINE = TrainConfig(steps=20_000, learning_rate=4e-4, batch=32, warmup=100, ema=0.998, bf16=True)
CONTOUR = TrainConfig(steps=8_000, learning_rate=8e-4, batch=64, warmup=100, ema=0.998, bf16=True)
DRAWING = TrainConfig(steps=20_000, learning_rate=1e-3, batch=48, warmup=100, ema=0.998, bf16=True)
ENDS, ENDING = 0.15, 4  # share of the moments that are of the last frames, which lack neighbours; how many
HIDDEN = 0.4  # share of the outlines learnt under so much noise that little is seen
OVERLAP = 60  # noise steps that each denoiser learns beyond those where it is asked
PER_PICTURE = 4  # frames of one clip that are learnt from at once
BLURRED, HANDED = 0.4, 180  # share that is blurred as outlines are, and how far below their level


def estimate(
    denoiser: DrawingNet, shown: Moments, frozen: FrameAutoencoder, abar: Tensor, steps: Tensor
) -> tuple[Tensor, Tensor]:
    """A frame's departure [B, C, h, w] as the network finds it under noise, and as it is."""
    spread = Spread.of(frozen.departs, frozen.departs_moving)
    with torch.autocast("cpu", enabled=False):
        picture, clean = frozen.encode(shown.videos[:, :, :1])[:, :, 0], frozen.coarse(shown.videos[:, :, 1:])
        blocks = frozen.blocks(shown.pictures, STRIDE)
    alpha, sigma = (x[steps].sqrt() for x in (abar, 1 - abar))
    wide_alpha, wide_sigma = (x.view(-1, 1, 1, 1, 1) for x in (alpha, sigma))
    departed = clean - picture[:, : spread.channels, None]
    noisy = wide_alpha * blurred(departed, steps) + wide_sigma * torch.randn_like(departed)
    noisy = noisy * shown.known[:, None, :, None, None]
    guess = denoiser(noisy, picture, blocks, steps, spread, alpha, sigma, shown.corners)
    return guess, departed[:, :, denoiser.config.moments.index(0)]


def blurred(departed: Tensor, steps: Tensor) -> Tensor:
    """As an outline has it, in a share of the cases near the level where outlines are handed over."""
    chosen = (torch.rand(len(steps)) < BLURRED) & (steps > MUCH - HANDED)
    share = (torch.rand(len(steps)) * chosen).view(-1, 1, 1, 1, 1)
    coarse = F.interpolate(F.avg_pool3d(departed, (1, 2, 2)), scale_factor=(1.0, 2.0, 2.0))
    return departed + share * (coarse - departed)


def outline_loss(
    denoiser: OutlineNet,
    departure: Tensor,
    picture: Tensor,
    blocks: Tensor,
    text: Tensor,
    abar: Tensor,
    steps: Tensor,
    spread: Spread,
    lots: Tensor,
) -> Tensor:
    """Of whole clips: shrunken departures [B, C, k, h, w] from pictures [B, C, 2h, 2w]."""
    alpha, sigma = abar[steps].sqrt(), QUIETER * (1 - abar[steps]).sqrt()
    wide = sigma.view(-1, 1, 1, 1, 1)
    noisy = alpha.view(-1, 1, 1, 1, 1) * departure + wide * torch.randn_like(departure)
    guess = denoiser(noisy, picture, blocks, steps, text, spread, alpha, sigma, lots)
    return departure_loss(guess, departure, spread, wide)


@dataclass(frozen=True)
class Moments:
    """Frames among their neighbours, mostly where much moves."""

    videos: Tensor  # [B, 3, 1 + moments, 48, 48]: the picture, a frame and its neighbours
    known: Tensor  # [B, moments]: which of them there are: after the picture, before the end
    corners: Tensor  # [B, 2]: the first cell of what is shown
    pictures: Tensor  # [P, 3, 96, 96]: whole; B / P of the others belong to each


def busy_moments(crops: Crops, batch: int, moments: Sequence[int], rng: np.random.Generator) -> Moments:
    last, places = crops.frames.shape[1] - 1, crops.frames.shape[2] // CELL - CROP
    videos, known, corners, pictures = [], [], [], []
    for clip in crops.draw_clips(batch // PER_PICTURE, rng):
        mirrored = rng.random() < 0.5
        whole = crops.frames[clip][:, :, :: -1 if mirrored else 1]
        pictures.append(whole[0])
        for busy, y, x in crops.draw_in(clip, PER_PICTURE, rng):
            time = int(last - rng.integers(ENDING)) if rng.random() < ENDS else max(busy, 1)
            y, x = 2 * (y // 2), 2 * ((places - x if mirrored else x) // 2)
            rows, columns = (slice(CELL * k, CELL * (k + CROP)) for k in (y, x))
            times = [0, *(min(max(time + moment, 0), last) for moment in moments)]
            videos.append(to_input(whole[times, rows, columns].copy()).transpose(0, 1))
            known.append([0 < time + moment <= last for moment in moments])
            corners.append((y, x))
    return Moments(
        torch.stack(videos), torch.tensor(known), torch.tensor(corners), to_input(np.stack(pictures))
    )


def run(
    part: str,
    folder: Path,
    weights: Path,
    *,
    config: TrainConfig | None = None,
    clips: int | None = None,
    start: Path | None = None,
) -> tuple[nn.Module, dict]:
    """One of the denoisers, from nothing or from the weights in `start`; `weights` holds the autoencoder, and
    for contours the outline network."""
    build, usual, many, make_loss = NETWORKS[part]
    config = config or usual
    torch.manual_seed(config.seed)
    denoiser = build()
    if start is not None and isinstance(denoiser, OutlineNet):
        denoiser = load_packed(OutlineNet, start)
    elif start is not None:
        denoiser = DrawingNet.from_pretrained(start, torch_dtype=torch.float32)
    frozen = FrameAutoencoder.from_pretrained(weights / "autoencoder", torch_dtype=torch.float32)
    frozen.requires_grad_(False)
    if isinstance(denoiser, DrawingNet):
        denoiser.draw_with(frozen.patterns, frozen.scale)
    loss_at = make_loss(denoiser, frozen, folder, clips or many, config, weights)
    return denoiser, train(denoiser, loss_at, config, folder, name=part)


def outline_steps(batch: int, rng: np.random.Generator) -> Tensor:
    """A share of them where noise hides nearly all, and a clip has to be inferred."""
    steps = noise_steps(batch, MUCH - OVERLAP, 1000, rng)
    hidden = torch.from_numpy(rng.random(batch) < HIDDEN)
    return torch.where(hidden, 1000 - (1000 - steps) // 4, steps).clamp(max=999)


def learn_drawing(
    denoiser: DrawingNet,
    frozen: FrameAutoencoder,
    folder: Path,
    clips: int,
    config: TrainConfig,
    weights: Path,
) -> StepLoss:
    spread, abar = Spread.of(frozen.departs, frozen.departs_moving), signal_left()
    crops, moments = Crops.of(cache_frames(folder, clips), folder), denoiser.config.moments

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        shown = busy_moments(crops, config.batch, moments, rng)
        steps = noise_steps(config.batch, 0, MUCH + OVERLAP, rng)
        guess, departure = estimate(denoiser, shown, frozen, abar, steps)
        sigma = (1 - abar[steps]).sqrt().view(-1, 1, 1, 1)
        return departure_loss(guess, departure, spread.flat(), sigma)

    return loss_at


def learn_outline(
    denoiser: OutlineNet,
    frozen: FrameAutoencoder,
    folder: Path,
    clips: int,
    config: TrainConfig,
    weights: Path,
) -> StepLoss:
    spread, abar = Spread.of(frozen.outlines, frozen.outlines_moving), signal_left()
    draw = whole_clips(folder, clips, frozen)

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        shown = draw(config.batch, rng, False)
        departure, picture = smaller(shown.departures), shown.pictures[:, : spread.channels]
        steps = outline_steps(config.batch, rng)
        return outline_loss(
            denoiser, departure, picture, shown.blocks, shown.text, abar, steps, spread, shown.lots
        )

    return loss_at


#: How each is built, its usual training, on how many clips, and what it learns.
NETWORKS: dict[str, tuple[Any, TrainConfig, int, Callable[..., StepLoss]]] = {
    "outline": (OutlineNet, OUTLINE, 20_000, learn_outline),
    "contour": (build_contour, CONTOUR, 12_000, learn_contour),
    "drawing": (DrawingNet, DRAWING, 8_000, learn_drawing),
}
