"""How much of what an event should change looks as its keyframe does, and how much else has changed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

CHANGED = 0.06  # of brightness: where two pictures differ to the eye
FAR = 0.25  # a difference at which nothing is left of the likeness
BLUR = 0.012  # of the height: edges a pixel off are no other outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    reached: float  # 1: the change is there, 0: nothing happened, or something else did
    stray: float  # share of the rest that has changed by itself
    shown: bool = True  # whether the keyframe changes anything there


def soften(frames: Tensor) -> Tensor:
    """Frames [..., 3, H, W] blurred a little."""
    reach = max(1, round(BLUR * frames.shape[-2]))
    shape = frames.shape
    blurred = F.avg_pool2d(
        frames.reshape(-1, *shape[-3:]), 2 * reach + 1, stride=1, padding=reach, count_include_pad=False
    )
    return blurred.reshape(shape)


def agreement(first: Tensor, keyframe: Tensor, frame: Tensor, region: Tensor, kept: Tensor) -> Agreement:
    """Of softened pictures [3, H, W]; `region` [H, W] is where the edits act, `kept` what is judged apart.

    Each pixel that the keyframe changes counts by how much it changes; it is reached by the share of the way
    from the first frame to the keyframe that the video has gone there, less what it is off the way.
    """
    wanted = (keyframe - first).abs().amax(0)
    changed = region & (wanted > CHANGED)
    to_key, to_first = (frame - keyframe).abs().amax(0), (frame - first).abs().amax(0)
    if not changed.any():
        reached = 1.0
    else:
        weight = wanted[changed]
        nearer = to_first[changed] / (to_first[changed] + to_key[changed]).clamp_min(1e-6)
        alike = (1 - to_key[changed] / FAR).clamp(0, 1)
        reached = float((weight * torch.maximum(alike, nearer * (nearer > 0.5))).sum() / weight.sum())
    rest = ~changed & ~kept
    meddled = rest & (torch.minimum(to_first, to_key) > 2 * CHANGED)
    return Agreement(
        reached=reached,
        stray=float(meddled.sum() / changed.sum().clamp_min(0.005 * rest.numel())),
        shown=bool(changed.any()),
    )
