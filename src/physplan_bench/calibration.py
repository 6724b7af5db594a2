"""b and tau of eq. 4 for an encoder, from pictures whose objects are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.guidance.paper.grid import mask_on_grid
from physplan.guidance.paper.keyframes import encode
from physplan.guidance.paper.occupancy import reference_feature, similarity
from physplan.perception.protocol import FeatureEncoder

SURE_OCCUPANCY = 0.95  # the occupancy that half of an object's cells shall reach, and 1 less it elsewhere


@dataclass(frozen=True, kw_only=True)
class Calibration:
    threshold: float  # b
    temperature: float  # tau
    accuracy: float  # of occupancy above 0.5, the mean over an object's cells and all others
    objects: int


def calibrate(
    examples: Sequence[tuple[Tensor, Tensor]], encoder: FeatureEncoder, *, size: tuple[int, int]
) -> Calibration:
    """From pictures [3, H, W] and masks [H, W] of an object each; all are looked at in `size`.

    b parts the similarities of an object's own cells from those of all others with the fewest errors, every
    object counting alike on both sides. tau makes the median cell of either side sure of itself.
    """
    inside, outside = [], []
    for picture, mask in examples:
        features = encode(picture, encoder, size)
        own = mask_on_grid(mask, (features.shape[-2], features.shape[-1]))
        if own.any() and not own.all():
            similar = similarity(features, reference_feature(features, own)[None])[0]
            inside.append(similar[own])
            outside.append(similar[~own])
    if not inside:
        raise PhysPlanError("No mask marks a part of its picture: white is the object, black is the rest.")
    values = torch.cat([*inside, *outside])
    steps = torch.linspace(float(values.min()), float(values.max()), 401)
    right = torch.stack([(_share(inside, b) + 1 - _share(outside, b)) / 2 for b in steps.tolist()])
    best = steps[right >= right.max() - 1e-6]
    threshold = float(best.mean())  # the middle of those that are equally good
    gap = _median(inside) - _median(outside)
    if gap <= 0:
        raise PhysPlanError("The encoder sees no difference between these objects and what is around them.")
    return Calibration(
        threshold=round(threshold, 3),
        temperature=round(max(gap / (2 * math.log(SURE_OCCUPANCY / (1 - SURE_OCCUPANCY))), 0.01), 3),
        accuracy=float(right.max()),
        objects=len(inside),
    )


def _share(similarities: Sequence[Tensor], level: float) -> Tensor:
    """The share of cells above a level, every object counting alike."""
    return torch.stack([(one > level).float().mean() for one in similarities]).mean()


def _median(similarities: Sequence[Tensor]) -> float:
    return float(torch.stack([one.median() for one in similarities]).mean())
