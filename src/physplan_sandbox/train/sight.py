"""Trains the segmenter and depth estimator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from physplan_sandbox.models.sight import SightNet
from physplan_sandbox.train.labelled_pictures import Pictures, augment, cache_pictures
from physplan_sandbox.train.loop import TrainConfig, train

CONFIG = TrainConfig(steps=3300, learning_rate=2e-3, batch=12, weight_decay=1e-3, ema=0.997, bf16=True)
READING_ROWS = 3 * 4  # rows of the last layer for direction and nearness, before pixels are shuffled out


def sight_loss(model: SightNet, images: Tensor, named: Tensor, offsets: Tensor, depth: Tensor) -> Tensor:
    logits, pointed, near = (out.float() for out in model(images))
    things = (named > 1).unsqueeze(1).float()
    # Thin and small objects count as much as the wall behind them.
    weight = torch.where(named > 1, 3.0, 0.6)
    naming = (F.cross_entropy(logits, named, reduction="none") * weight).mean()
    overlap = _dice(logits, named)
    pointing = ((pointed - offsets).abs() * things).sum() / things.sum().clamp(min=1)
    return naming + 0.5 * overlap + 4.0 * pointing + 2.0 * ((near - depth).abs() * weight).mean()


def _dice(logits: Tensor, named: Tensor) -> Tensor:
    """One minus the soft overlap, over the categories that are in the batch."""
    soft = logits.softmax(dim=1)
    truth = F.one_hot(named, soft.shape[1]).permute(0, 3, 1, 2).float()
    both = (soft * truth).sum(dim=(0, 2, 3))
    size = (soft + truth).sum(dim=(0, 2, 3))
    present = truth.sum(dim=(0, 2, 3)) > 0
    return (1.0 - 2.0 * both / size.clamp(min=1.0))[present].mean()


def targets(
    pictures: Pictures, clips: np.ndarray, which: np.ndarray
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images, category per pixel, offset to the object's middle, depth."""
    frames, objects = pictures.frames[clips, which], pictures.objects[clips, which]
    named = np.stack([pictures.category[c][o] for c, o in zip(clips, objects, strict=True)])
    offsets = np.stack([middle_offsets(o) for o in objects])
    images = torch.from_numpy(frames).permute(0, 3, 1, 2).float() / 255.0
    depth = torch.from_numpy(pictures.depth[clips, which].astype(np.float32))
    return images, torch.from_numpy(named.astype(np.int64)), torch.from_numpy(offsets), depth


def middle_offsets(objects: np.ndarray) -> np.ndarray:
    """[2, H, W]: from each pixel to the middle of its object, x then y, in pictures."""
    side = objects.shape[0]
    rows, cols = np.indices(objects.shape, dtype=np.float32)
    flat = objects.ravel()
    count = np.maximum(np.bincount(flat), 1)
    mean_row = np.bincount(flat, rows.ravel()) / count
    mean_col = np.bincount(flat, cols.ravel()) / count
    return np.stack([mean_col[objects] - cols, mean_row[objects] - rows]).astype(np.float32) / side


@torch.no_grad()
def adopt(model: SightNet, old: SightNet) -> None:
    """Take over what `old` knows: new categories stand at the end of the list, before the three readings."""
    known, state = old.state_dict(), model.state_dict()
    for name, value in state.items():
        if value.shape == known[name].shape:
            value.copy_(known[name])
            continue
        categories = known[name].shape[0] - READING_ROWS
        value[:categories].copy_(known[name][:categories])
        value[-READING_ROWS:].copy_(known[name][-READING_ROWS:])


def run(
    folder: Path, *, config: TrainConfig = CONFIG, clips: int = 5000, start: Path | None = None
) -> tuple[SightNet, dict]:
    """From nothing, or from the weights in `start`, which may know fewer categories."""
    pictures = cache_pictures(folder, clips)
    torch.manual_seed(config.seed)
    model = SightNet().to(memory_format=torch.channels_last)
    if start is not None:
        adopt(model, SightNet.from_pretrained(start, torch_dtype=torch.float32))

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        chosen = rng.integers(len(pictures.frames), size=config.batch)
        images, *rest = targets(pictures, chosen, rng.integers(2, size=config.batch))
        return sight_loss(model, augment(images, rng), *rest)

    return model, train(model, loss_at, config, folder, name="sight")
