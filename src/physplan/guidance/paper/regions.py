"""Where a term may change the video (eq. 9), drawn at image resolution, then pooled. No gradient.

A hull is drawn by row extremes: its left border is the lower convex envelope of each row's leftmost pixel,
its right border the upper envelope of the rightmost: two scans of the rows and one comparison, 2 ms for 480p.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from physplan.guidance.paper.instances import NEIGHBOURS, Instances
from physplan.guidance.paper.matching import Matching

Value = TypeVar("Value", bound=np.generic)
Extremes = tuple[
    NDArray[np.int64], NDArray[np.int64]
]  # leftmost and rightmost pixel of each row, or W and -1


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyframeShape:
    """The keyframe's instances as its own mask shows them, pixel by pixel."""

    labels: NDArray[np.int64]  # [H, W]; 0 is the background, instance l has the label l + 1
    extremes: tuple[Extremes, ...]  # of each instance


def keyframe_shape(mask: NDArray[np.bool_], instances: Instances) -> KeyframeShape:
    """The pixels of a mask [H, W], each with the instance of its connected component.

    A component that the grid parts into several instances is divided among them by the nearest cell.
    """
    if len(instances) == 0:
        return KeyframeShape(labels=np.zeros(mask.shape, dtype=np.int64), extremes=())
    parts, number = ndimage.label(mask, structure=NEIGHBOURS)
    cells = enlarge(instances.labels, mask.shape)
    shared = np.zeros((number + 1, len(instances) + 1), dtype=np.int64)  # pixels by component and instance
    np.add.at(shared, (parts, cells), 1)
    owner = shared[1:, 1:].argmax(axis=0) + 1  # the component that has most of each instance's cells
    labels = np.zeros(mask.shape, dtype=np.int64)
    for part in range(1, number + 1):
        own = np.flatnonzero(owner == part) + 1
        if len(own) == 0:  # the grid merges it with a larger one, or lost it
            overlap = shared[part, 1:]
            own = np.flatnonzero(overlap == overlap.max()) + 1
        labels = np.where(parts == part, _nearest(instances.labels, own, mask.shape), labels)
    found = [row_extremes(labels == instance + 1) for instance in range(len(instances))]
    return KeyframeShape(labels=labels, extremes=tuple(found))


def _nearest(
    labels: NDArray[np.int64], chosen: NDArray[np.int64], size: tuple[int, ...]
) -> NDArray[np.int64]:
    """At `size`, which of the chosen labels has the nearest cell."""
    if len(chosen) == 1:
        return np.full(size, chosen[0], dtype=np.int64)
    nearest = ndimage.distance_transform_edt(
        ~np.isin(labels, chosen), return_distances=False, return_indices=True
    )
    return enlarge(labels[tuple(nearest)], size)


def region(preview: Instances, keyframe: KeyframeShape, matching: Matching) -> NDArray[np.bool_]:
    """Omega_k of eq. 9: the hull of every matched pair, and the unmatched instances as they are: [H, W]."""
    size = keyframe.labels.shape
    covered = enlarge(np.isin(preview.labels, [j + 1 for j in matching.extra]), size)
    covered |= np.isin(keyframe.labels, [l + 1 for l in matching.missing])
    for j, l in matching.pairs:
        fill_hull(covered, *_outer(cell_extremes(preview.mask(j), size), keyframe.extremes[l]))
    return covered


def fill_hull(drawn: NDArray[np.bool_], left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    """Add to `drawn` the hull of a shape with these row extremes."""
    rows = np.flatnonzero(right >= 0)
    if len(rows) == 0:
        return
    inside = np.arange(rows[0], rows[-1] + 1)
    low = _lower_envelope(rows, left[rows], inside)
    high = -_lower_envelope(rows, -right[rows], inside)
    columns = np.arange(drawn.shape[1])
    drawn[inside] |= (columns >= low[:, None] - 1e-9) & (columns <= high[:, None] + 1e-9)


def row_extremes(mask: NDArray[np.bool_]) -> Extremes:
    width = mask.shape[1]
    some = mask.any(axis=1)
    left = np.where(some, mask.argmax(axis=1), width)
    right = np.where(some, width - 1 - mask[:, ::-1].argmax(axis=1), -1)
    return left, right


def cell_extremes(cells: NDArray[np.bool_], size: tuple[int, ...]) -> Extremes:
    """The row extremes at `size` (height, width) of cells [h, w], without drawing them."""
    left, right = row_extremes(cells)
    starts = _edges(cells.shape[1], size[1])
    row = _cell_of(cells.shape[0], size[0])
    some = right >= 0
    pixels_left = np.where(some, starts[np.minimum(left, cells.shape[1] - 1)], size[1])
    pixels_right = np.where(some, starts[right + 1] - 1, -1)
    return pixels_left[row], pixels_right[row]


def enlarge(cells: NDArray[Value], size: tuple[int, ...]) -> NDArray[Value]:
    """A map of cells [h, w] at `size` (height, width): every pixel has its cell's value."""
    rows, columns = (_cell_of(old, new) for old, new in zip(cells.shape, size, strict=True))
    return cells[np.ix_(rows, columns)]


def _outer(a: Extremes, b: Extremes) -> Extremes:
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


@lru_cache(maxsize=32)
def _edges(cells: int, pixels: int) -> NDArray[np.int64]:
    """The first pixel of each cell, and behind the last one the number of pixels."""
    return np.round(np.arange(cells + 1) * pixels / cells).astype(np.int64)


@lru_cache(maxsize=32)
def _cell_of(cells: int, pixels: int) -> NDArray[np.int64]:
    """The cell that each pixel lies in."""
    return np.searchsorted(_edges(cells, pixels), np.arange(pixels), side="right") - 1


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

    Exact for any pair of sizes.
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
