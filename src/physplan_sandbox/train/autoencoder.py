"""Train the autoencoder's decoder on crops of single frames, sampled by motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from physplan.files import atomic_path
from physplan_sandbox.models.autoencoder import CELL_SIZE, FrameAutoencoder
from physplan_sandbox.models.outline import downsample
from physplan_sandbox.models.residual_prediction import measure
from physplan_sandbox.train.data import cache_frames
from physplan_sandbox.train.loop import TrainConfig, train

CONFIG = TrainConfig(steps=12_000, learning_rate=1e-3, batch=32, weight_decay=1e-4, ema=0.998, bf16=True)
CLIP_COUNT = 8000
CROP_CELLS = 8  # cells per side of a crop
MOTION_THRESHOLD = 0.06  # in [-1, 1]: difference to the first frame of a moving pixel
MAX_LATENT_NOISE = 0.25  # largest std of latent noise the decoder is trained to tolerate


@dataclass(frozen=True)
class Crops:
    """Motion-weighted sampling of crops: clips and the cumulative weight of each frame and position."""

    frames: NDArray[np.uint8]  # [N, T, H, W, 3]
    chances: NDArray[np.float64]  # cumulative, over clips, frames and crop positions

    @classmethod
    def of(cls, frames: NDArray[np.uint8], folder: Path) -> Crops:
        path = folder / f"movement-{len(frames)}.npy"
        if not path.exists():
            with atomic_path(path) as temporary, temporary.open("wb") as file:
                np.save(file, np.stack([movement(clip) for clip in frames]))
        chances = np.cumsum(np.load(path).ravel().astype(np.float64) + 0.01)
        return cls(frames, chances / chances[-1])

    def draw(self, batch: int, rng: np.random.Generator) -> Iterator[tuple[int, int, int, int]]:
        """Yields (clip, frame, row, column) of a crop's first cell."""
        places = self.frames.shape[2] // CELL_SIZE - CROP_CELLS + 1
        shape = (*self.frames.shape[:2], places, places)
        for place in np.searchsorted(self.chances, rng.random(batch)):
            clip, time, y, x = (int(k) for k in np.unravel_index(place, shape))
            yield clip, time, y, x

    def draw_clips(self, count: int, rng: np.random.Generator) -> list[int]:
        per_clip = len(self.chances) // len(self.frames)
        return [int(k) // per_clip for k in np.searchsorted(self.chances, rng.random(count))]

    def draw_in(self, clip: int, count: int, rng: np.random.Generator) -> Iterator[tuple[int, int, int]]:
        """Yields (frame, row, column) of a crop's first cell within one clip."""
        places = self.frames.shape[2] // CELL_SIZE - CROP_CELLS + 1
        per_clip = len(self.chances) // len(self.frames)
        before = self.chances[clip * per_clip - 1] if clip else 0.0
        within = self.chances[clip * per_clip : (clip + 1) * per_clip]
        for place in np.searchsorted(within, rng.uniform(before, within[-1], count)):
            time, y, x = (int(k) for k in np.unravel_index(place, (self.frames.shape[1], places, places)))
            yield time, y, x

    def sample(self, batch: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Crops [B, 3, 48, 48] of frames, and of the first frame at the same position."""
        found, first = [], []
        for clip, time, y, x in self.draw(batch, rng):
            area = (
                slice(CELL_SIZE * y, CELL_SIZE * (y + CROP_CELLS)),
                slice(CELL_SIZE * x, CELL_SIZE * (x + CROP_CELLS)),
            )
            both = self.frames[clip][[time, 0]][(slice(None), *area)]
            if rng.random() < 0.5:
                both = both[:, :, ::-1]
            if rng.random() < 0.3:  # channel permutation as colour augmentation
                both = both[..., rng.permutation(3)]
            found.append(both[0])
            first.append(both[1])
        return to_input(np.stack(found)), to_input(np.stack(first))


def movement(clip: NDArray[np.uint8]) -> NDArray[np.float16]:
    """[T, places, places]: the share of a crop's pixels that differ from the first frame."""
    small = clip[:, ::3, ::3].astype(np.int16)
    busy = torch.from_numpy(np.abs(small - small[:1]).max(axis=-1) > 12)
    return (
        F.avg_pool2d(busy.float()[:, None], CELL_SIZE * CROP_CELLS // 3, CELL_SIZE // 3)[:, 0]
        .numpy()
        .astype(np.float16)
    )


def to_input(pictures: NDArray[np.uint8]) -> Tensor:
    """[B, H, W, 3] bytes as [B, 3, H, W] in [-1, 1]."""
    return torch.tensor(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1.0


def noisy_latents(model: FrameAutoencoder, frames: Tensor, first: Tensor, rng: np.random.Generator) -> Tensor:
    """Latents of frames, half of them with Gaussian noise such as an imperfect denoiser leaves."""
    latents = model.encode(torch.stack([first, frames], dim=2))[:, :, 1].clone()
    left = rng.uniform(0, MAX_LATENT_NOISE, len(frames)) * (rng.random(len(frames)) < 0.5)
    drawn = int(model.config.drawn)
    noise = torch.from_numpy(left.astype(np.float32)).view(-1, 1, 1, 1) * torch.randn_like(latents[:, :drawn])
    latents[:, :drawn] += noise
    return latents


def pixel_loss(found: Tensor, frames: Tensor, first: Tensor) -> Tensor:
    """L2 + L1, weighted 5x on moving pixels, plus an L1 loss on image gradients."""
    error = found.float() - frames
    moved = (frames - first).abs().amax(dim=1, keepdim=True) > MOTION_THRESHOLD
    weight = 1.0 + 4.0 * moved.float()
    edges = error.diff(dim=-1).abs().mean() + error.diff(dim=-2).abs().mean()
    return (weight * (4.0 * error.square() + 0.1 * error.abs())).mean() + 0.1 * edges


def run(
    folder: Path, *, config: TrainConfig = CONFIG, clips: int = CLIP_COUNT, start: Path | None = None
) -> tuple[FrameAutoencoder, dict]:
    """Start from principal components, or fine-tune the decoder of the weights in `start`."""
    crops = Crops.of(cache_frames(folder, clips), folder)
    torch.manual_seed(config.seed)
    if start is None:
        model = begin(crops)
    else:
        model = FrameAutoencoder.from_pretrained(start, torch_dtype=torch.float32)

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        frames, first = crops.sample(config.batch, rng)
        return pixel_loss(model.paint(noisy_latents(model, frames, first, rng)), frames, first)

    return model, train(model, loss_at, config, folder, name="autoencoder")


@torch.no_grad()
def begin(crops: Crops) -> FrameAutoencoder:
    """Fit the encoder's basis and the residual statistics; the decoder is untrained."""
    model = FrameAutoencoder()
    frames, first = crops.sample(3000, np.random.default_rng(1))
    cells, still = (
        F.pixel_unshuffle(x, CELL_SIZE).permute(0, 2, 3, 1).flatten(0, 2) for x in (frames, first)
    )
    busy = (cells - still).abs().amax(dim=1) > MOTION_THRESHOLD
    model.start_from_principal_components(
        torch.cat([cells[busy], still[::5]]), residuals=(cells - still)[busy]
    )
    whole = crops.frames[:: max(1, len(crops.frames) // 200)]
    latents = torch.cat([model.encode(to_input(clip).transpose(0, 1)[None]) for clip in whole])
    drawn = latents[:, : int(model.config.drawn)]
    residual = (drawn - drawn[:, :, :1])[:, :, 1:]
    for spread, values in (
        ((model.departs, model.departs_moving), residual),
        ((model.outlines, model.outlines_moving), downsample(drawn - drawn[:, :, :1])),
    ):
        for buffer, found in zip(spread, measure(values), strict=True):
            buffer.copy_(found)
    return model
