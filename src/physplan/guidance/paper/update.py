"""The region-weighted, per-term normalised update (eq. 10)."""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST_NORM = 1e-12


def normalised(gradient: Tensor) -> Tensor:
    """g / max(||g||, epsilon): a unit direction whatever the term's scale (A.6); 0 if it is not finite."""
    return finite(gradient / gradient.norm().clamp_min(SMALLEST_NORM))


def finite(gradient: Tensor) -> Tensor:
    """The gradient, or 0 everywhere if any of it is NaN or infinite."""
    return torch.where(gradient.norm().isfinite(), gradient, 0.0)


def region_weights(region: Tensor, outside_weight: float) -> Tensor:
    """Omega + lambda (1 - Omega)."""
    return region + outside_weight * (1 - region)
