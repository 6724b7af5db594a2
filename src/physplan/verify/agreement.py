"""How much of what an event should change looks as its keyframe does, and how much else has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.ndimage import uniform_filter1d
from torch import Tensor

VISIBLE_CHANGE = 0.06  # of brightness: where two pictures differ to the eye
MAX_DIFFERENCE = 0.25  # a difference at which nothing is left of the likeness
BLUR_RADIUS = 0.012  # of the height: edges a pixel off are no other outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    reached: float  # 1: the change is there, 0: nothing happened, or something else did
    stray: float  # share of the rest that has changed by itself
    shown: bool = True  # whether the keyframe changes anything there


def soften(picture: Tensor) -> Tensor:
    """A picture [3, H, W] blurred a little: the mean of a square, of what of it is in the picture."""
    size = 2 * max(1, round(BLUR_RADIUS * picture.shape[-2])) + 1
    blurred = picture.cpu().numpy()
    for axis in (-2, -1):
        inside = uniform_filter1d(np.ones(blurred.shape[axis]), size, mode="constant")
        blurred = uniform_filter1d(blurred, size, axis, mode="constant")
        blurred /= (inside[:, None] if axis == -2 else inside).astype(blurred.dtype)
    return torch.from_numpy(blurred).to(picture.device)


class Softened(Sequence[Tensor]):
    """Frames [F, 3, H, W], each softened when it is first asked for."""

    def __init__(self, frames: Tensor) -> None:
        self._frames = frames
        self._softened: dict[int, Tensor] = {}

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, frame: int | slice) -> Tensor:  # type: ignore[override]
        """One frame [3, H, W], or several together [n, 3, H, W]."""
        if isinstance(frame, slice):
            return torch.stack([self[t] for t in range(*frame.indices(len(self)))])
        if frame not in self._softened:
            self._softened[frame] = soften(self._frames[frame])
        return self._softened[frame]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Apart:
    """How far softened pictures are from each other, by pixel [H, W]."""

    wanted: Tensor  # the keyframe from the first frame
    to_key: Tensor  # the video's frame from the keyframe
    to_first: Tensor

    @classmethod
    def of(cls, first: Tensor, keyframe: Tensor, frame: Tensor) -> Apart:
        pairs = {"wanted": (keyframe, first), "to_key": (frame, keyframe), "to_first": (frame, first)}
        return cls(**{name: (one - two).abs_().amax(0) for name, (one, two) in pairs.items()})


def agreement(apart: Apart, region: Tensor, kept: Tensor) -> Agreement:
    """`region` [H, W] is where the edits act, `kept` what is judged apart.

    Each pixel that the keyframe changes counts by how much it changes; it is reached by the share of the way
    from the first frame to the keyframe that the video has gone there, less what it is off the way.
    """
    changed = region & (apart.wanted > VISIBLE_CHANGE)
    shown = bool(changed.any())
    reached = _reached(apart, changed) if shown else 1.0
    rest = ~changed & ~kept
    meddled = rest & (torch.minimum(apart.to_first, apart.to_key) > 2 * VISIBLE_CHANGE)
    return Agreement(
        reached=reached,
        stray=float(meddled.sum() / changed.sum().clamp_min(0.005 * rest.numel())),
        shown=shown,
    )


def _reached(apart: Apart, changed: Tensor) -> float:
    weight, to_first, to_key = (values[changed] for values in (apart.wanted, apart.to_first, apart.to_key))
    nearer = to_first / (to_first + to_key).clamp_min(1e-6)
    alike = (1 - to_key / MAX_DIFFERENCE).clamp(0, 1)
    return float((weight * torch.maximum(alike, nearer * (nearer > 0.5))).sum() / weight.sum())
