"""The five measurements of eqs. 6 and 7, each a pure function of maps on the feature grid [h, w].

Maps of the preview come first and carry the gradient; those of the keyframe are targets. Every term compares
the same summary of the two pictures, so it is zero when they are equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.guidance.paper.instances import Instances, averages
from physplan.guidance.paper.occupancy import EPSILON, average


def suppress(occupancy: Tensor, preview: Instances, extra: Sequence[int]) -> Tensor:
    """First half of eq. 6, over unmatched preview instances: sum_j avg_{P_j} Phi."""
    return averages(occupancy, preview)[list(extra)].sum()


def fill(occupancy: Tensor, target: Tensor, keyframe: Instances, missing: Sequence[int]) -> Tensor:
    """Second half of eq. 6, over unmatched keyframe instances: sum_l max(0, 1 - avg_Q Phi / avg_Q Phi*)."""
    reached = averages(occupancy, keyframe) / (averages(target, keyframe) + EPSILON)
    return (1 - reached[list(missing)]).clamp_min(0).sum()


def appearance(features: Tensor, target: Tensor, preview: Tensor, keyframe: Tensor) -> Tensor:
    """Eq. 7a for one pair: 1 - cos of the preview's mean feature over P_j and the keyframe's over Q_l."""
    return 1 - F.cosine_similarity(average(features, preview), average(target, keyframe), dim=0, eps=EPSILON)


def extent(occupancy: Tensor, target: Tensor, region: Tensor) -> Tensor:
    """Eq. 7b for one pair: log^2 of the ratio of the soft areas within R_jl."""
    area, wanted = (occupancy * region).sum(), (target * region).sum()
    return torch.log((area + EPSILON) / (wanted + EPSILON)) ** 2


def position(occupancy: Tensor, target: Tensor, region: Tensor) -> Tensor:
    """Eq. 7c for one pair: the squared distance of the occupancy's centroids within R_jl."""
    return ((centroid(occupancy * region) - centroid(target * region)) ** 2).sum()


def depth(
    occupancies: tuple[Tensor, Tensor], nearness: Tensor, targets: tuple[Tensor, Tensor], wanted: Tensor
) -> Tensor:
    """Eq. 7d: the squared difference of the depth gap between a and b in the preview and in the keyframe."""
    return (depth_gap(occupancies, nearness) - depth_gap(targets, wanted)) ** 2


def centroid(weights: Tensor) -> Tensor:
    """(x, y) in [0, 1] of a map [h, w]."""
    height, width = weights.shape
    x = (torch.arange(width, device=weights.device, dtype=weights.dtype) + 0.5) / width
    y = (torch.arange(height, device=weights.device, dtype=weights.dtype) + 0.5) / height
    total = weights.sum() + EPSILON
    return torch.stack([(weights.sum(0) * x).sum(), (weights.sum(1) * y).sum()]) / total


def depth_gap(occupancies: tuple[Tensor, Tensor], nearness: Tensor) -> Tensor:
    """Delta z_ab = D_a - D_b with D_a = sum Phi_a z / sum Phi_a."""
    a, b = ((phi * nearness).sum() / (phi.sum() + EPSILON) for phi in occupancies)
    return a - b
