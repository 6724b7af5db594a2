"""Where an object is in a picture, in a form that gradients can pass through (eqs. 4 and 5)."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from scipy import ndimage
from torch import Tensor

NEIGHBOURS = np.ones((3, 3), dtype=int)  # diagonals count: a thin slanted object is one instance
SPECK = 1 / 16  # of a cell
EPSILON = 1e-8  # added to every denominator (A.6, "Combination")


def average(values: Tensor, region: Tensor) -> Tensor:
    """avg_A g: the mean of `values` [..., h, w] over a region [h, w]; leading axes are kept."""
    weight = region.to(values.dtype)
    return (values * weight).sum((-2, -1)) / weight.sum().clamp_min(EPSILON)


def reference_feature(features: Tensor, mask: Tensor) -> Tensor:
    """rho_o of eq. 5: the mean feature [C] of `features` [C, h, w] over the object's mask [h, w]."""
    return average(features, mask)


def similarity(features: Tensor, references: Tensor) -> Tensor:
    """s(u) = cos(F(x)(u), rho_o): [O, h, w] from features [C, h, w] and references [O, C]."""
    directions = F.normalize(features, dim=0, eps=EPSILON)
    return torch.einsum("oc,chw->ohw", F.normalize(references, dim=1, eps=EPSILON), directions)


def logits(similarity: Tensor, *, threshold: float, temperature: float) -> Tensor:
    """(s(u) - b) / tau: above 0 where occupancy is above 0.5."""
    return (similarity - threshold) / temperature


def occupancy(similarity: Tensor, *, threshold: float, temperature: float) -> Tensor:
    """Eq. 4: Phi_o(x)(u) = sigmoid((s(u) - b) / tau), in [0, 1]."""
    return torch.sigmoid(logits(similarity, threshold=threshold, temperature=temperature))


def mask_on_grid(mask: Tensor, size: tuple[int, int]) -> Tensor:
    """A mask [H, W] average-pooled to the feature grid (A.5): bool [h, w], the cells it covers by half.

    A part of it too small to cover half of any cell keeps the cell it covers most, so that no instance is
    lost; less than a sixteenth of a cell, beside larger parts, is a segmenter's speck.
    """
    covered = F.adaptive_avg_pool2d(mask.float()[None], size)[0]
    if not covered.any():
        return covered.bool()
    cells = covered >= min(0.5, float(covered.max()))
    shown = F.interpolate(cells[None, None].float(), mask.shape[-2:], mode="nearest")[0, 0].bool()
    parts, _ = ndimage.label(mask.cpu().numpy(), structure=NEIGHBOURS)
    lost = set(np.unique(parts)) - set(np.unique(parts[shown.cpu().numpy()])) - {0}
    for part in lost:
        alone = F.adaptive_avg_pool2d(torch.from_numpy(parts == part).float()[None], size)[0]
        if alone.max() >= SPECK:
            cells = cells | (alone == alone.max()).to(cells.device)
    return cells
