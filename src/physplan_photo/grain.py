"""The fine texture of a ground, continued over a hole: overlapping patches of the photograph (quilting)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from physplan_photo.objects import Mask

SIDES = (56, 40, 28)  # pixels of a patch, the largest of which there are enough; the next overlaps by half
MIN_PATCHES = 12
COMPARED_PATCHES = 72  # patches that are compared for each place
BLUR_SIGMA = 9.0  # pixels: what is smoother is colour, not grain
MAX_ROUGHNESS = 1.6  # of the median: rougher patches hold edges of other things

Detail = NDArray[np.floating[Any]]


def grain(pixels: NDArray[np.uint8], hole: Mask, *, seed: int = 0) -> Detail:
    """[H, W, 3] to be added to a smooth fill of `hole`; zero elsewhere."""
    detail = _detail(pixels, hole)
    made, weight = detail * (~hole)[..., None], (~hole).astype(np.float64)
    random = np.random.default_rng(seed)
    for side in SIDES:
        sources = _sources(detail, hole, side, random)
        if len(sources) >= MIN_PATCHES:
            break
    if not len(sources):
        return np.zeros_like(detail)
    # A patch that has been used costs more: the same one everywhere would be a pattern.
    used, floor = np.zeros(len(sources)), float((sources**2).mean())
    window = np.hanning(side + 2)[1:-1]
    soft = np.outer(window, window)
    total, norm = np.zeros_like(detail), np.zeros(hole.shape)
    rows, columns = np.flatnonzero(hole.any(1)), np.flatnonzero(hole.any(0))
    for top in _steps(rows[0], rows[-1], hole.shape[0], side):
        for left in _steps(columns[0], columns[-1], hole.shape[1], side):
            place = np.s_[top : top + side, left : left + side]
            if not hole[place].any():
                continue
            known = weight[place]
            apart = (((sources - made[place]) ** 2).mean(-1) * known).sum((1, 2)) / max(known.sum(), 1.0)
            chosen = int((apart + floor * (0.3 * random.random(len(sources)) + 0.7 * used)).argmin())
            used[chosen] += 1
            best = sources[chosen]
            open_ = (1 - np.minimum(known, 1))[..., None]
            made[place] += best * open_
            weight[place] = np.maximum(known, 1.0)
            total[place] += best * soft[..., None]
            norm[place] += soft**2
    # Divided by the root of the squares: a mean of patches that do not agree would be flat.
    mixed = total / np.sqrt(np.maximum(norm, 1e-6))[..., None]
    return np.where(hole[..., None], mixed, 0.0)


def _detail(pixels: NDArray[np.uint8], hole: Mask) -> Detail:
    """What the known pixels differ from their own blur, which looks at known pixels alone."""
    from scipy import ndimage

    known = (~hole)[..., None].astype(np.float64)
    weight = np.maximum(ndimage.gaussian_filter(known, (BLUR_SIGMA, BLUR_SIGMA, 0)), 1e-3)
    blurred = ndimage.gaussian_filter(pixels * known, (BLUR_SIGMA, BLUR_SIGMA, 0)) / weight
    found: Detail = (pixels - blurred) * known
    return found


def _sources(detail: Detail, hole: Mask, side: int, random: np.random.Generator) -> Detail:
    """Patches [N, side, side, 3] without a hole in them, the nearest first, none of the roughest."""
    from scipy import ndimage

    height, width = hole.shape
    if height <= side or width <= side:
        return np.zeros((0, side, side, 3))
    tops, lefts = random.integers(0, height - side, 1200), random.integers(0, width - side, 1200)
    sums = np.pad(hole.astype(np.int64).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    covered = (
        sums[tops + side, lefts + side]
        - sums[tops, lefts + side]
        - sums[tops + side, lefts]
        + sums[tops, lefts]
    )
    away = ndimage.distance_transform_edt(~hole)[tops + side // 2, lefts + side // 2]
    order = np.argsort(away)
    order = order[covered[order] == 0][: 3 * COMPARED_PATCHES]
    found = (
        np.stack([detail[y : y + side, x : x + side] for y, x in zip(tops[order], lefts[order], strict=True)])
        if len(order)
        else np.zeros((0, side, side, 3))
    )
    if not len(found):
        return found
    rough = found.std((1, 2, 3))
    return found[rough <= MAX_ROUGHNESS * np.median(rough)][:COMPARED_PATCHES]


def _steps(first: int, last: int, limit: int, side: int) -> range:
    """Upper or left edges of patches that cover from `first` to `last`, within the picture."""
    start = max(0, first - side // 2)
    return range(min(start, limit - side), max(0, min(last, limit - side)) + 1, side // 2)
