"""Trains the motion code on groups of four frames, mostly where something moves."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from physplan.files import atomic_path
from physplan.sandbox.models.copying import CELL, sample
from physplan.sandbox.models.motion_code import GROUP, MotionCoder
from physplan.sandbox.train.copier import FARTHEST, MOVED, SHARP, was_seen
from physplan.sandbox.train.data import training_clip
from physplan.sandbox.train.loop import TrainConfig
from physplan.sandbox.world.render import FRAMES

CONFIG = TrainConfig(steps=6000, learning_rate=1e-3, batch=8, weight_decay=1e-4, ema=0.998, bf16=True)
CLIPS, CHUNK, SHOWN = 4000, 50, 2  # clips, clips per file, groups of a clip
NOISE = 0.25  # the most that the decoder learns to bear


def cache_groups(folder: Path, clips: int, *, workers: int = 2) -> list[Path]:
    """Files of groups and where their pixels were; those that exist are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"groups-{k:03d}.npz" for k in range(-(-clips // CHUNK))]
    jobs = [(str(path), k) for k, path in enumerate(files) if not path.exists()]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(tqdm(pool.map(_cache_chunk, jobs), total=len(jobs), desc="rendering groups"))
    return files


def _cache_chunk(job: tuple[str, int]) -> None:
    path, k = job
    found = [busy_groups(index) for index in range(k * CHUNK, (k + 1) * CHUNK)]
    with atomic_path(Path(path)) as temporary, temporary.open("wb") as file:
        arrays: dict[str, Any] = {name: np.concatenate([f[name] for f in found]) for name in found[0]}
        np.savez(file, **arrays)


def busy_groups(index: int) -> dict[str, NDArray[Any]]:
    """Of one training clip the groups where most moves: frames, picture, sources in sixteenths of a pixel."""
    clip, _ = training_clip(index)
    rng = np.random.default_rng([12, index])
    moved = np.abs(clip.frames[1:].astype(np.int16) - clip.frames[:1]).max(axis=-1) > 127.5 * MOVED
    chance = moved.reshape(-1, GROUP, *moved.shape[1:]).mean(axis=(1, 2, 3)) + 0.001
    chosen = np.sort(rng.choice((FRAMES - 1) // GROUP, SHOWN, replace=False, p=chance / chance.sum()))
    frames = (1 + GROUP * chosen[:, None] + np.arange(GROUP)).ravel()
    seen = was_seen(clip, frames)[..., None]
    sources = np.where(seen, np.rint(16 * clip.sources[frames]), -1).astype(np.int16)
    shape = (SHOWN, GROUP)
    return {
        "truth": clip.frames[frames].reshape(*shape, *clip.frames.shape[1:]),
        "picture": clip.frames[:1].repeat(SHOWN, axis=0),
        "sources": sources.reshape(*shape, *sources.shape[1:]),
    }


class Groups:
    """What was cached so far, drawn at random."""

    def __init__(self, files: list[Path]) -> None:
        parts = [np.load(path) for path in files if path.exists()]
        self.arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0].files}

    def batch(self, size: int, rng: np.random.Generator) -> dict[str, Tensor]:
        """Mirrored half of the time, in other colours half of the time."""
        chosen = rng.choice(len(self.arrays["truth"]), size)
        truth, picture = self.arrays["truth"][chosen], self.arrays["picture"][chosen]
        sources = self.arrays["sources"][chosen].astype(np.float32)
        side = truth.shape[-2]
        for k in range(size):
            if rng.random() < 0.5:
                truth[k], picture[k] = truth[k][..., ::-1, :], picture[k][..., ::-1, :]
                columns = sources[k, ..., :1]
                sources[k, ..., :1] = np.where(columns >= 0, 16 * (side - 1) - columns, -1)
                sources[k] = sources[k][..., ::-1, :]
            if rng.random() < 0.5:
                order = rng.permutation(3)
                truth[k], picture[k] = truth[k][..., order], picture[k][..., order]
        where = torch.from_numpy(sources).permute(0, 1, 4, 2, 3)  # [B, 4, 2, H, W]
        known = (where >= 0).all(dim=2, keepdim=True)
        where = where / 16
        y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
        elsewhere = (where - torch.stack([x, y])).abs().amax(dim=2, keepdim=True) > 0.5
        return {
            "truth": torch.from_numpy(truth).permute(0, 1, 4, 2, 3).float() / 127.5 - 1.0,
            "picture": torch.from_numpy(picture).permute(0, 3, 1, 2).float() / 127.5 - 1.0,
            "sources": where,
            "known": (known & elsewhere).float(),
        }


def coding_loss(model: MotionCoder, batch: dict[str, Tensor], rng: np.random.Generator) -> Tensor:
    """Error of one frame of each group from its noisy code; of sources and shares as for the copier."""
    groups, pictures = batch["truth"], batch["picture"]
    codes, logits = model.encode(groups, pictures)
    noise = torch.from_numpy(rng.uniform(0, NOISE, (len(codes), 1, 1, 1)).astype(np.float32))
    only = torch.from_numpy(rng.integers(GROUP, size=len(codes)))
    picked = torch.arange(len(codes)), only
    found, sources, shares, painted = (
        part[:, 0] for part in model.decode(codes + noise * torch.randn_like(codes), pictures, only)
    )
    truth, where, known = groups[picked], batch["sources"][picked], batch["known"][picked]
    moved = ((truth - pictures).abs().amax(dim=1, keepdim=True) > MOVED).float()
    weight = 1.0 + 4.0 * moved
    seen = (weight * (4.0 * (found - truth).square() + 0.2 * (found - truth).abs())).mean()
    soft = (weight * (painted - truth).square()).mean()
    off = ((sources - where) / CELL).abs().clamp(max=FARTHEST / CELL)
    by_pixel = (off * known).sum() / known.sum().clamp(min=1)
    layers = torch.stack([pictures, sample(pictures, sources.detach()), painted.detach()], dim=1)
    near = (-(layers - truth[:, None]).abs().mean(dim=2) / SHARP).softmax(dim=1)
    choice = -(near * shares.clamp(min=1e-4).log()).sum(dim=1, keepdim=True)
    by_choice = (choice * (0.1 + moved)).sum() / (0.1 + moved).sum()
    return (
        seen
        + soft
        + 0.03 * by_pixel
        + 0.02 * matching_loss(logits, batch)
        + 0.02 * by_choice
        + 1e-3 * codes.square().mean()
    )


def matching_loss(logits: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """Cross entropy of each moved cell's source."""
    middle, side = CELL // 2, batch["truth"].shape[-1] // CELL
    cells = batch["known"][:, :, 0, middle::CELL, middle::CELL].flatten(2) > 0
    target = (batch["sources"][..., middle::CELL, middle::CELL] / CELL).long().clamp(0, side - 1)
    index = (target[:, :, 1] * side + target[:, :, 0]).flatten(2)
    return F.cross_entropy(logits[cells], index[cells]) if cells.any() else logits.sum() * 0
