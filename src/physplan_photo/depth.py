"""Depth without a network: what stands lower in the picture is nearer, as on a floor seen from above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from physplan_photo.objects import Mask


class FlatDepth:
    """Nearness [B, H, W] that grows from the top row to the bottom row; gradients are those of a constant.

    A trace of the picture's own brightness keeps the map differentiable, as guidance asks of depth.
    """

    TRACE = 1e-6

    @classmethod
    def from_pretrained(cls) -> FlatDepth:
        return cls()

    def __call__(self, images: Tensor) -> Tensor:
        height = images.shape[-2]
        rows = torch.linspace(0, 1, height, device=images.device, dtype=images.dtype)
        return rows[:, None] + self.TRACE * images.mean(1)


def foot(mask: Mask) -> float:
    """How far down the object stands: its lowest row over the picture's height, in (0, 1]."""
    return float((np.flatnonzero(mask.any(1))[-1] + 1) / mask.shape[0])


def order(masks: Mapping[str, Mask], in_front: Sequence[tuple[str, str]] = ()) -> list[str]:
    """Names from the farthest to the nearest, by the foot of the mask; `in_front` pairs (nearer, farther) of
    the plan's relations come before it. Relations that contradict each other keep the order of the feet."""
    names = sorted(masks, key=lambda name: foot(masks[name]))
    pairs = [(near, far) for near, far in in_front if near in masks and far in masks and near != far]
    for _ in range(len(names)):
        moved = False
        for near, far in pairs:
            if names.index(near) < names.index(far):
                names.remove(near)
                names.insert(names.index(far) + 1, near)
                moved = True
        if not moved:
            return names
    return sorted(masks, key=lambda name: foot(masks[name]))


def nearness(masks: Mapping[str, Mask], in_front: Sequence[tuple[str, str]] = ()) -> dict[str, float]:
    """Each object's nearness in (0, 1), equal steps in `order`."""
    names = order(masks, in_front)
    return {name: (place + 1) / (len(names) + 1) for place, name in enumerate(names)}
