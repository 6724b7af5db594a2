"""A keyframe laid over the first frame: editors shift and tint unedited parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from physplan.perception import KeyframeEvidence

Array = np.ndarray[Any, np.dtype[Any]]

MAX_SHIFT = 0.06  # of the height: how far an editor's picture is looked for
COARSE_ROWS = 96  # rows at which the shift is sought first
TRIMMED_SHARE = 0.3  # share of pixels that may have changed for reasons of their own
MIN_BRIGHTNESS = 0.02
SAMPLED_PIXELS = 20_000  # pixels at which a shift is judged
UNEDITED_QUANTILE = 0.95  # of the pixels an editor should leave alone: these differ less than an edit does


def aligned(first: Tensor, frame: KeyframeEvidence, untouched: Tensor) -> KeyframeEvidence:
    """The keyframe moved back onto the first frame and given its tones, judged by what no edit touches.

    `untouched` [H, W] is where the two should be alike; too little of it, and the keyframe stays as it is.
    """
    if untouched.float().mean() < 0.1:
        return frame
    dx, dy = find_shift(first, frame.image, untouched)
    image = matched_tones(first, _moved(frame.image, dx, dy), untouched)
    masks = {id: _moved(mask[None].float(), dx, dy)[0] > 0.5 for id, mask in frame.masks.items()}
    return replace(frame, image=image, masks=masks, depth=_moved(frame.depth[None], dx, dy)[0])


def slip(first: Tensor, image: Tensor, untouched: Tensor) -> float:
    """The noise level: how much the two still differ where they should be equal."""
    apart = (first - image).abs().amax(0)[untouched].cpu().numpy()
    place = int(UNEDITED_QUANTILE * (len(apart) - 1))
    return float(np.partition(apart, place)[place]) if len(apart) else 0.0


def find_shift(first: Tensor, image: Tensor, untouched: Tensor) -> tuple[int, int]:
    """Whole pixels by which `image` must move right and down to lie on `first`.

    Sought on a small copy, then nearby on ever larger ones; no shift wins where none is clearly better.
    """
    height = first.shape[-2]
    step = max(1, round(height / COARSE_ROWS))
    found = (0, 0)
    reach = max(1, round(MAX_SHIFT * (height // step)))
    while step > 1:
        small = [F.avg_pool2d(x[None], step)[0] for x in (first, image, untouched[None].float())]
        found = _Slopes.of(small[0], small[1], small[2][0] > 0.5).best(found, reach)
        finer = max(1, step // 2)
        found = (round(found[0] * step / finer), round(found[1] * step / finer))
        reach, step = math.ceil(step / finer), finer
    whole = _Slopes.of(first, image, untouched)
    dx, dy = whole.best(found, reach)
    return (dx, dy) if whole.difference(dx, dy) < 0.9 * whole.difference(0, 0) else (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Slopes:
    """The slopes of two pictures, so that a tint does not count, and the pixels where they are compared."""

    first: Array  # [N, 6]: down and across of each channel, at the pixels
    image: Array  # [H * W, 6]
    rows: Array  # [N] of the pixels that no edit touches, at most about SAMPLED
    columns: Array
    size: tuple[int, int]

    @classmethod
    def of(cls, first: Tensor, image: Tensor, untouched: Tensor) -> _Slopes:
        rows, columns = np.nonzero(untouched.cpu().numpy())
        every = max(1, len(rows) // SAMPLED_PIXELS)
        rows, columns = rows[::every], columns[::every]
        height, width = untouched.shape
        return cls(
            first=_slopes(first)[rows * width + columns],
            image=_slopes(image),
            rows=rows,
            columns=columns,
            size=(height, width),
        )

    def best(self, start: tuple[int, int], reach: int) -> tuple[int, int]:
        around = range(-reach, reach + 1)
        places = [(start[0] + dx, start[1] + dy) for dy in around for dx in around]
        return min(places, key=lambda p: (self.difference(*p), abs(p[0]) + abs(p[1])))

    def difference(self, dx: int, dy: int) -> float:
        """The mean, without the largest: those are edits."""
        (height, width), rows, columns = self.size, self.rows - dy, self.columns - dx
        # The last row and column of either have no slope.
        inside = (rows >= 0) & (columns >= 0) & (rows < height - 1 - max(dy, 0))
        inside &= columns < width - 1 - max(dx, 0)
        there = self.image.take(rows * width + columns, axis=0, mode="clip")
        values = (np.abs(self.first - there) @ _MEAN)[inside]
        keep = max(1, int(len(values) * (1 - TRIMMED_SHARE / 3)))
        return float(np.partition(values, keep - 1)[:keep].mean(dtype=np.float64)) if len(values) else 1.0


_MEAN = np.full(6, 1 / 3, np.float32)


def _slopes(image: Tensor) -> Array:
    down = F.pad(image[:, 1:] - image[:, :-1], (0, 0, 0, 1))
    across = F.pad(image[:, :, 1:] - image[:, :, :-1], (0, 1))
    found: Array = torch.cat([down, across]).flatten(1).T.contiguous().cpu().numpy()
    return found


def matched_tones(first: Tensor, image: Tensor, untouched: Tensor) -> Tensor:
    """Gamma and tint of each channel undone: log first = a log image + b, fitted to the pixels that agree."""
    fitted = []
    for channel in range(3):
        x = image[channel].clamp_min(MIN_BRIGHTNESS).log()
        y = first[channel].clamp_min(MIN_BRIGHTNESS).log()
        slope, offset = _line(x[untouched], y[untouched])
        fitted.append((slope * x + offset).exp().clamp(0, 1))
    return torch.stack(fitted)


def _line(x: Tensor, y: Tensor) -> tuple[float, float]:
    slope, offset = 1.0, float((y - x).median())
    for _ in range(3):
        apart = (y - slope * x - offset).abs()
        kept = apart <= _quantile(apart, 1 - TRIMMED_SHARE)
        near_x, near_y = x[kept], y[kept]
        mean_x, mean_y = near_x.mean(), near_y.mean()
        variance = ((near_x - mean_x) ** 2).mean()
        if float(variance) < 1e-4:
            break
        found = float(((near_x - mean_x) * (near_y - mean_y)).mean() / variance)
        slope = min(max(found, 0.6), 1.6)
        offset = float(mean_y - slope * mean_x)
    return slope, offset


def _quantile(values: Tensor, share: float) -> float:
    """As torch's, without sorting everything."""
    place = share * (len(values) - 1)
    below = int(place)
    ordered = np.partition(values.cpu().numpy(), (below, min(below + 1, len(values) - 1)))
    ends = torch.from_numpy(ordered[below : below + 2])
    return float(torch.lerp(ends[0], ends[-1], place - below))


def _moved(values: Tensor, dx: int, dy: int) -> Tensor:
    """Shifted right and down by whole pixels; edge pixels are replicated."""
    if dx == dy == 0:
        return values
    height, width = values.shape[-2:]
    rows = (torch.arange(height) - dy).clamp(0, height - 1)
    columns = (torch.arange(width) - dx).clamp(0, width - 1)
    return values[:, rows][:, :, columns]
