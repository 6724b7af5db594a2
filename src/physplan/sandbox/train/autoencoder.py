"""Trains the autoencoder on crops of groups of four neighbouring frames, mostly where something moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from physplan.files import atomic_path
from physplan.sandbox.models.autoencoder import GROUP, FrameGroupAutoencoder
from physplan.sandbox.models.departures import measure
from physplan.sandbox.train.data import cache_frames
from physplan.sandbox.train.loop import TrainConfig, train

CONFIG = TrainConfig(steps=16_000, learning_rate=1e-3, batch=24, weight_decay=1e-4, ema=0.998, bf16=True)
CLIPS = 6000
CELL, CROP = 8, 6  # pixels per cell, cells per side of a crop
MOVED = 0.06  # of the range from -1 to 1: a pixel that differs this much from the first frame has moved
GAIN = 18.75  # makes the variance of what moves about 1, as the mean over the channels
PUSH = 0.3
NOISE = 0.02  # added to the latents, so that none says much by little
LEFT = 0.3  # the most noise, in units of what moves, that the decoder learns to bear


@dataclass(frozen=True)
class Crops:
    """Where to look: clips, and for each of their groups and places how much moves there, summed up."""

    frames: NDArray[np.uint8]  # [N, T, H, W, 3]
    chances: NDArray[np.float64]  # cumulative, over clips, groups and places of a crop

    @classmethod
    def of(cls, frames: NDArray[np.uint8], folder: Path) -> Crops:
        path = folder / f"movement-{len(frames)}.npy"
        if not path.exists():
            with atomic_path(path) as temporary, temporary.open("wb") as file:
                np.save(file, np.stack([movement(clip) for clip in frames]))
        chances = np.cumsum(np.load(path).ravel().astype(np.float64) + 0.03)
        return cls(frames, chances / chances[-1])

    def sample(self, batch: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Crops [B, 12, 48, 48] of groups, and of the first frame at the same place."""
        groups, places = (self.frames.shape[1] - 1) // GROUP + 1, self.frames.shape[2] // CELL - CROP + 1
        found, first = [], []
        for place in np.searchsorted(self.chances, rng.random(batch)):
            clip, group, y, x = np.unravel_index(place, (len(self.frames), groups, places, places))
            area = (slice(CELL * y, CELL * (y + CROP)), slice(CELL * x, CELL * (x + CROP)))
            now = self.frames[clip][(rows(int(group)), *area)]
            then = self.frames[clip][(rows(0), *area)]
            if rng.random() < 0.5:
                now, then = now[:, :, ::-1], then[:, :, ::-1]
            if rng.random() < 0.3:  # other colours than the palette's, so that none is learnt by heart
                order = rng.permutation(3)
                now, then = now[..., order], then[..., order]
            found.append(now)
            first.append(then)
        return to_input(np.stack(found)), to_input(np.stack(first))


def rows(group: int) -> slice | list[int]:
    """The frames of a group: the first one stands for itself, repeated."""
    return [0] * GROUP if group == 0 else slice(1 + (group - 1) * GROUP, 1 + group * GROUP)


def movement(clip: NDArray[np.uint8]) -> NDArray[np.float32]:
    """[groups, places, places]: the share of a crop's pixels that move or have moved."""
    small = clip[:, ::2, ::2].astype(np.int16)
    departs = np.abs(small[1:] - small[:1]).max(axis=-1)
    moves = np.abs(np.diff(small, axis=0)).max(axis=-1)
    busy = np.maximum(departs, moves).reshape(-1, GROUP, *small.shape[1:3]).max(axis=1) > 12
    share = F.avg_pool2d(torch.from_numpy(busy).float()[:, None], CELL * CROP // 2, CELL // 2)[:, 0].numpy()
    return np.concatenate([np.zeros_like(share[:1]), share])


def reconstruction_loss(model: FrameGroupAutoencoder, groups: Tensor, first: Tensor) -> Tensor:
    """Error of the decoded groups, and of the first frame, from all that their latents hold."""
    latents = model.encoder(torch.cat([groups, first]))
    spread = latents.float().std(dim=(0, 2, 3), keepdim=True).detach().clamp(min=1e-3)
    noisy = latents + NOISE * spread * torch.randn_like(latents)
    return pixel_loss(model.decoder(noisy), torch.cat([groups, first]), torch.cat([first, first]))


def borrowing_loss(
    model: FrameGroupAutoencoder, groups: Tensor, first: Tensor, rng: np.random.Generator
) -> Tensor:
    """The same with noise that a video model may leave, and half of the groups with borrowed channels."""
    latents, picture = model.encoder(torch.cat([groups, first])).chunk(2)
    left = torch.from_numpy(rng.uniform(0, LEFT, (len(latents), 1, 1, 1)).astype(np.float32))
    noisy = latents + left * torch.randn_like(latents)
    half = len(latents) // 2
    shown = torch.cat([model.borrow(noisy[:half], picture[:half]), noisy[half:], picture])
    return pixel_loss(model.decoder(shown), torch.cat([groups, first]), torch.cat([first, first]))


def pixel_loss(found: Tensor, groups: Tensor, first: Tensor) -> Tensor:
    """Squared and absolute error, five times as much where pixels differ from the first frame."""
    error = found.float() - groups
    moved = (groups - first).unflatten(1, (GROUP, 3)).abs().amax(dim=2, keepdim=True) > MOVED
    weight = 1.0 + 4.0 * moved.float().expand(-1, -1, 3, -1, -1).flatten(1, 2)
    return (weight * (4.0 * error.square() + 0.1 * error.abs())).mean()


def run(
    folder: Path, *, config: TrainConfig = CONFIG, clips: int = CLIPS, start: Path | None = None
) -> tuple[FrameGroupAutoencoder, dict]:
    """From principal components with all channels, then with borrowed ones. From the weights in `start` only
    the decoder learns: latents stay as they are, and what was trained on them stays good."""
    crops = Crops.of(cache_frames(folder, clips), folder)
    torch.manual_seed(config.seed)
    if start is None:
        model = FrameGroupAutoencoder()
        model.start_from_principal_components(crops.sample(2000, np.random.default_rng(1))[0])
        _train(model, crops, replace(config, steps=config.steps // 2), folder, "autoencoder-whole")
        arrange(model, crops)
    else:
        model = FrameGroupAutoencoder.from_pretrained(start, torch_dtype=torch.float32)
        for part in (model.encode_linear, model.encode_residual):
            part.requires_grad_(False)
    return model, _train(model, crops, config, folder, "autoencoder")


def _train(model: FrameGroupAutoencoder, crops: Crops, config: TrainConfig, folder: Path, name: str) -> dict:
    model.to(memory_format=torch.channels_last)

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        groups, first = crops.sample(config.batch, rng)
        if name == "autoencoder":
            return borrowing_loss(model, groups, first, rng)
        return reconstruction_loss(model, groups, first)

    figures = train(model, loss_at, config, folder, name=name)
    measure_departures(model, crops)
    return figures


def to_input(groups: np.ndarray) -> Tensor:
    """uint8 [B, 4, H, W, 3] -> float [B, 12, H, W] in [-1, 1]."""
    flat = torch.from_numpy(np.ascontiguousarray(groups)).permute(0, 1, 4, 2, 3).flatten(1, 2)
    return flat.float() / 127.5 - 1.0


@torch.no_grad()
def arrange(model: FrameGroupAutoencoder, crops: Crops) -> None:
    """Turn the latents so that the first channels say most of what can be seen to move.

    A channel is first scaled by how far pixels move with it; then come principal components, none scaled:
    noise drowns fine channels before coarse ones, and a denoiser need not find both at once.
    """
    groups, _ = crops.sample(1024, np.random.default_rng(0))
    latents = torch.cat([model.encoder(chunk) for chunk in groups.split(32)])
    spread = latents.std(dim=(0, 2, 3))
    unit = spread / (GAIN * sensitivity(model, latents[:64], spread))
    scaled = (latents / unit.view(-1, 1, 1)).transpose(0, 1).flatten(1)
    _, vectors = torch.linalg.eigh(torch.cov(scaled))
    turn = vectors.flip(1).T  # the largest first
    turn_latents(model, turn / unit)


@torch.no_grad()
def turn_latents(model: FrameGroupAutoencoder, turn: Tensor) -> None:
    """Have the encoder give `turn` times its latents, and the decoder undo it."""
    back = torch.linalg.inv(turn)
    for layer in (model.encode_linear, model.encode_residual[-1]):
        assert isinstance(layer, nn.Conv2d)
        assert layer.bias is not None
        layer.weight.copy_(torch.einsum("ij,jkhw->ikhw", turn, layer.weight))
        layer.bias.copy_(turn @ layer.bias)
    linear, residual = model.decode_linear, model.decode_residual[0]
    assert isinstance(residual, nn.Conv2d)
    linear.weight.copy_(torch.einsum("ji,jkhw->ikhw", back, linear.weight))
    residual.weight.copy_(torch.einsum("ji,kjhw->kihw", back, residual.weight))


@torch.no_grad()
def measure_departures(model: FrameGroupAutoencoder, crops: Crops) -> None:
    chosen = np.random.default_rng(2).choice(len(crops.frames), min(200, len(crops.frames)), replace=False)
    videos = (
        torch.from_numpy(crops.frames[k]).permute(3, 0, 1, 2)[None] / 127.5 - 1.0 for k in np.sort(chosen)
    )
    latents = torch.cat([model.encode(video) for video in videos])
    overall, moving = measure(latents[:, : model.config.coarse_channels])
    model.departs.copy_(overall)
    model.departs_moving.copy_(moving)


def sensitivity(model: FrameGroupAutoencoder, latents: Tensor, spread: Tensor) -> Tensor:
    """By how much pixels change when a channel changes by its own spread, per channel."""
    before, moved = model.decoder(latents), []
    generator = torch.Generator().manual_seed(0)
    for channel, width in enumerate(spread.tolist()):
        pushed = latents.clone()
        pushed[:, channel] += PUSH * width * torch.randn(pushed[:, channel].shape, generator=generator)
        moved.append((model.decoder(pushed) - before).square().mean().sqrt() / PUSH)
    return torch.stack(moved)
