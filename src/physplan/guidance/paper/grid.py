"""Masks on the feature grid (A.5)."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from physplan.guidance.paper.instances import NEIGHBOURS
from physplan.guidance.paper.regions import pool

MIN_CELL_SHARE = 1 / 16  # of a cell


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
        if alone.max() >= MIN_CELL_SHARE:
            cells = cells | (alone == alone.max()).to(cells.device)
    return cells


def mask_at(mask: Tensor | None, size: tuple[int, int]) -> NDArray[np.bool_]:
    """A mask [H, W] at `size` (height, width), a pixel where it covers half of one; none is empty."""
    if mask is None:
        return np.zeros(size, dtype=bool)
    resized: NDArray[np.bool_] = (pool(mask.cpu(), size) >= 0.5).numpy()
    return resized
