"""Removing things: what was behind is guessed from what is around, for wall, table and objects apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy.ndimage import binary_dilation, binary_erosion, binary_opening, gaussian_filter
from scipy.spatial import ConvexHull, QhullError

Array = NDArray[np.float32]
Mask = NDArray[np.bool_]


def erase(image: Array, gone: Mask, others: Mapping[str, Mask], horizon: int) -> Array:
    """The picture [H, W, 3] without what is in `gone`.

    `others` are the things that stay: where one of them was partly hidden, it is completed; the rest is wall
    above the row `horizon`, and table below it.
    """
    hole = gone & ~_union(others.values(), gone.shape)
    filled = image.copy()
    left = hole.copy()
    for mask in sorted(others.values(), key=lambda mask: int(mask.sum())):
        hidden = binary_opening(left & hull(mask))  # single pixels along a straight edge are no hidden part
        if hidden.any():
            filled[hidden] = rows_from(image, hidden, mask)[hidden]
            left &= ~hidden
    usable = ~(
        _surroundings(_union(others.values(), gone.shape))
        | binary_dilation(gone, iterations=_pixels(gone, 1))
    )
    row = np.arange(gone.shape[0])[:, None]
    for side in (row < horizon, row >= horizon):
        filled = _continued(filled, left & side, usable & side)
    # A soft seam, as a brush would leave.
    blend = gaussian_filter(hole.astype(np.float32), 0.5 * _pixels(gone, 1))[..., None]
    return np.where(hole[..., None], filled, filled * blend + image * (1 - blend))


def _continued(image: Array, hole: Mask, usable: Mask) -> Array:
    """The hole filled with the stretch beside it that continues its rim best, so that patterns continue."""
    if not hole.any() or not usable.any():
        return image
    rim = binary_dilation(hole, iterations=_pixels(hole, 3)) & usable
    best: tuple[float, Array, Mask] | None = None
    step = _pixels(hole, 1)
    for shift in range(-hole.shape[1] + 1, hole.shape[1], step):
        if abs(shift) < 2 * step:
            continue
        moved, moved_usable = _shifted(image, shift), _shifted(usable, shift)
        common = rim & moved_usable
        covered = float((hole & moved_usable).sum() / hole.sum())
        if covered < 0.6 or not common.any() or common.sum() < 0.4 * rim.sum():
            continue
        error = float(np.abs(image - moved)[common].mean()) + 0.1 * (1 - covered)
        if best is None or error < best[0]:
            best = error, moved, moved_usable
    filled = image.copy()
    rest = hole
    if best is not None:
        _, moved, moved_usable = best
        copied = hole & moved_usable
        filled[copied] = moved[copied]
        rest = hole & ~copied
    filled[rest] = rows_from(image, rest, usable)[rest]
    return filled


def rows_from(image: Array, wanted: Mask, source: Mask) -> Array:
    """Each row of `wanted` interpolated from the pixels of `source` in it, or in the nearest row of it."""
    inner = binary_erosion(source, iterations=_pixels(source, 1))
    source = inner if inner.any() else source
    have = np.flatnonzero(source.any(1))
    filled = image.copy()
    if not have.size:
        return filled
    for row in np.flatnonzero(wanted.any(1)):
        nearest = have[np.abs(have - row).argmin()]
        columns = np.flatnonzero(source[nearest])
        across = np.flatnonzero(wanted[row])
        for channel in range(3):
            filled[row, across, channel] = np.interp(across, columns, image[nearest, columns, channel])
    return filled


def hull(mask: Mask) -> Mask:
    """The convex outline of a mask, filled."""
    rows, columns = np.nonzero(mask)
    points = np.stack([columns, rows], axis=1)
    try:
        corners = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return mask
    canvas = Image.new("1", (mask.shape[1], mask.shape[0]))
    ImageDraw.Draw(canvas).polygon([(int(x), int(y)) for x, y in corners], fill=1)
    return np.asarray(canvas) | mask


def _surroundings(things: Mask) -> Mask:
    """Things with their shadows on what is below them: nothing to copy background from."""
    wide = binary_dilation(things, iterations=_pixels(things, 2.5))
    for _ in range(_pixels(things, 3)):
        wide[1:] |= wide[:-1]
    return wide


def _shifted(array: NDArray[Any], by: int) -> NDArray[Any]:
    """Moved right by `by` columns; what enters is zero."""
    moved = np.zeros_like(array)
    if by >= 0:
        moved[:, by:] = array[:, : array.shape[1] - by]
    else:
        moved[:, :by] = array[:, -by:]
    return moved


def _union(masks: Iterable[Mask], shape: tuple[int, ...]) -> Mask:
    union = np.zeros(shape, dtype=bool)
    for mask in masks:
        union |= mask
    return union


def _pixels(mask: Mask, units: float) -> int:
    """World units (96 to the picture's height) in pixels, at least one."""
    return max(1, round(units * mask.shape[0] / 96))
