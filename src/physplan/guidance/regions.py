"""Where a term may change the video (eq. 9). No gradient."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from physplan.guidance.instances import Instances
from physplan.guidance.matching import Matching


def region(preview: Instances, keyframe: Instances, matching: Matching) -> NDArray[np.bool_]:
    """Omega_k of eq. 9: the hull of every matched pair, and the unmatched instances as they are."""
    covered = np.isin(preview.labels, [j + 1 for j in matching.extra])
    covered |= np.isin(keyframe.labels, [l + 1 for l in matching.missing])
    for j, l in matching.pairs:
        covered |= hull(preview.mask(j) | keyframe.mask(l))
    return covered


def hull(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The cells whose centre lies in the convex hull of the cells' centres, drawn by row extremes.

    The hull's left border is the lower convex envelope of each row's leftmost cell, its right border the
    upper envelope of the rightmost: two short scans and one interpolation, whatever the shape.
    """
    rows = np.flatnonzero(mask.any(axis=1))
    if len(rows) == 0:
        return mask
    width = mask.shape[1]
    left = mask[rows].argmax(axis=1)
    right = width - 1 - mask[rows, ::-1].argmax(axis=1)
    inside = np.arange(rows[0], rows[-1] + 1)
    low = _lower_envelope(rows, left, inside)
    high = -_lower_envelope(rows, -right, inside)
    columns = np.arange(width)
    drawn = np.zeros_like(mask)
    drawn[inside] = (columns >= low[:, None] - 1e-9) & (columns <= high[:, None] + 1e-9)
    return drawn


def _lower_envelope(x: NDArray[np.int64], y: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.float64]:
    """The greatest convex function below the points (x, y), x ascending, evaluated `at` (monotone chain)."""
    chain: list[tuple[int, int]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while len(chain) > 1 and _turns_up(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    known, values = np.array(chain, dtype=float).T
    return np.asarray(np.interp(at, known, values))


def _turns_up(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def pool(region: Tensor, size: tuple[int, int]) -> Tensor:
    """A region [h, w] average-pooled to the latent grid: the covered share of each latent cell, float32.

    Exact for any pair of sizes: as if drawn at image resolution first, without drawing it.
    """
    rows, columns = (
        _overlap(old, new).to(region.device) for old, new in zip(region.shape, size, strict=True)
    )
    return rows @ region.float() @ columns.T


@lru_cache(maxsize=32)
def _overlap(old: int, new: int) -> Tensor:
    """[new, old]: which share of each new cell lies in each old one."""
    edges_old, edges_new = np.linspace(0, 1, old + 1), np.linspace(0, 1, new + 1)
    low = np.maximum(edges_new[:-1, None], edges_old[None, :-1])
    high = np.minimum(edges_new[1:, None], edges_old[None, 1:])
    return torch.from_numpy(np.clip(high - low, 0, None) * new).float()
