"""Labelled pictures for segmenter, depth estimator and encoder: two frames of each training clip."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from physplan.files import atomic_path
from physplan_sandbox.train.data import draw_clip
from physplan_sandbox.world.categories import CATEGORIES
from physplan_sandbox.world.render import FRAMES

MAX_OBJECTS = 16  # places for objects in a picture's table
STATE_SIZE = 7  # colour (3), level, cos and sin of twice the angle, presence


@dataclass(frozen=True)
class Pictures:
    """frames uint8 [N, 2, H, W, 3]; objects uint8 [N, 2, H, W] numbering the clip's objects; category uint8
    [N, OBJECTS];
    state float16 [N, 2, OBJECTS, STATE]; depth float16 [N, 2, H, W]."""

    frames: NDArray[np.uint8]
    objects: NDArray[np.uint8]
    category: NDArray[np.uint8]
    state: NDArray[np.float16]
    depth: NDArray[np.float16]


def labelled(index: int, *, split: str = "train") -> tuple[NDArray, ...]:
    scene, outcome, change, take = draw_clip(index, split=split)
    rng = np.random.default_rng([5, index])
    when = sorted(int(t) for t in rng.choice(FRAMES, 2, replace=False))
    clip = scene.render(outcome, take=take, change=change, only=when)
    category = np.zeros(MAX_OBJECTS, dtype=np.uint8)
    category[1] = 1
    state = np.zeros((2, MAX_OBJECTS, STATE_SIZE), dtype=np.float16)
    for sprite in scene.sprites(outcome, take=take, change=change):
        if sprite.object not in clip.names:
            continue
        slot = clip.names.index(sprite.object)
        category[slot] = CATEGORIES.index(sprite.category)
        for k, t in enumerate(when):
            value = lambda v, t=t: float(v if np.ndim(v) == 0 else np.asarray(v)[t])  # noqa: E731
            color = np.asarray(sprite.color)[t] if np.ndim(sprite.color) == 2 else np.asarray(sprite.color)
            angle = value(sprite.angle) if sprite.kind != "ball" else 0.0
            state[k, slot] = (
                *color,
                value(sprite.level),
                np.cos(2 * angle),
                np.sin(2 * angle),
                value(sprite.alpha),
            )
    return clip.frames, clip.objects, category, state, clip.depth.astype(np.float16)


def cache_pictures(folder: Path, count: int, *, split: str = "train", workers: int = 2) -> Pictures:
    """Rendered once, then read from disk."""
    path = folder / f"pictures-{split}-{count}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            made = pool.map(_labelled, [(i, split) for i in range(count)], chunksize=16)
            rows = list(tqdm(made, total=count, desc="rendering labelled pictures"))
        columns = [np.stack(column) for column in zip(*rows, strict=True)]
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, *columns)
    with np.load(path) as stored:
        return Pictures(*(stored[name] for name in stored.files))


def _labelled(job: tuple[int, str]) -> tuple[NDArray, ...]:
    return labelled(job[0], split=job[1])


def augment(images: Tensor, rng: np.random.Generator) -> Tensor:
    """Degradations of previews: blur, noise, shifts of brightness and colour, per image."""
    out = []
    for image in images:
        if rng.random() < 0.45:
            small = int(rng.integers(24, 72))
            shrunk = F.interpolate(image[None], size=(small, small), mode="area")
            image = F.interpolate(shrunk, size=image.shape[-2:], mode="bicubic", align_corners=False)[0]
        if rng.random() < 0.4:
            image = image + float(rng.uniform(0.01, 0.06)) * torch.randn_like(image)
        if rng.random() < 0.6:
            gain = torch.from_numpy(rng.normal(1.0, 0.06, size=(3, 1, 1)).astype(np.float32))
            image = image * gain + float(rng.normal(0, 0.03))
        out.append(image)
    return torch.stack(out)
