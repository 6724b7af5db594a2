"""A keyframe laid over the first frame: editors shift and tint what nobody asked them to touch."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from physplan.perception import KeyframeEvidence

FARTHEST = 0.06  # of the height: how far an editor's picture is looked for
COARSE = 96  # rows at which the shift is sought first
TRIMMED = 0.3  # share of pixels that may have changed for reasons of their own
DARK = 0.02
MEANT = 0.95  # share of the pixels that an editor should leave alone: they differ less than an edit does


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
    """How much the two still differ where they should be alike: what differs less, nobody meant."""
    apart = (first - image).abs().amax(0)[untouched]
    return float(apart.sort().values[int(MEANT * (len(apart) - 1))]) if len(apart) else 0.0


def find_shift(first: Tensor, image: Tensor, untouched: Tensor) -> tuple[int, int]:
    """Whole pixels by which `image` must move right and down to lie on `first`.

    Sought on a small copy, then nearby at full size; no shift wins where none is clearly better.
    """
    height = first.shape[-2]
    step = max(1, round(height / COARSE))
    small = [F.avg_pool2d(x[None], step)[0] for x in (first, image, untouched[None].float())]
    reach = max(1, round(FARTHEST * small[0].shape[-2]))
    best = _best(small[0], small[1], small[2][0] > 0.5, (0, 0), reach)
    dx, dy = best[0] * step, best[1] * step
    if step > 1:
        dx, dy = _best(first, image, untouched, (dx, dy), step)
    still = _difference(first, image, untouched, 0, 0)
    return (dx, dy) if _difference(first, image, untouched, dx, dy) < 0.9 * still else (0, 0)


def _best(
    first: Tensor, image: Tensor, untouched: Tensor, start: tuple[int, int], reach: int
) -> tuple[int, int]:
    around = range(-reach, reach + 1)
    places = [(start[0] + dx, start[1] + dy) for dy in around for dx in around]
    return min(places, key=lambda p: (_difference(first, image, untouched, *p), abs(p[0]) + abs(p[1])))


def _difference(first: Tensor, image: Tensor, untouched: Tensor, dx: int, dy: int) -> float:
    """Of the gradients, so that a tint does not count; the largest differences are somebody's edits."""
    height, width = first.shape[-2:]
    rows, columns = slice(max(dy, 0), height + min(dy, 0)), slice(max(dx, 0), width + min(dx, 0))
    rows_from, columns_from = (
        slice(max(-dy, 0), height + min(-dy, 0)),
        slice(max(-dx, 0), width + min(-dx, 0)),
    )
    one, two = first[:, rows, columns], image[:, rows_from, columns_from]
    apart = sum((_slope(one, axis) - _slope(two, axis)).abs().mean(0)[:-1, :-1] for axis in (0, 1))
    assert isinstance(apart, Tensor)
    values = apart[untouched[rows, columns][:-1, :-1]]
    keep = max(1, int(len(values) * (1 - TRIMMED / 3)))
    return float(values.sort().values[:keep].mean()) if len(values) else 1.0


def _slope(image: Tensor, axis: int) -> Tensor:
    return (
        F.pad(image[:, 1:] - image[:, :-1], (0, 0, 0, 1))
        if axis == 0
        else F.pad(image[:, :, 1:] - image[:, :, :-1], (0, 1))
    )


def matched_tones(first: Tensor, image: Tensor, untouched: Tensor) -> Tensor:
    """Gamma and tint of each channel undone: log first = a log image + b, fitted to the pixels that agree."""
    fitted = []
    for channel in range(3):
        x = image[channel].clamp_min(DARK).log()
        y = first[channel].clamp_min(DARK).log()
        slope, offset = _line(x[untouched], y[untouched])
        fitted.append((slope * x + offset).exp().clamp(0, 1))
    return torch.stack(fitted)


def _line(x: Tensor, y: Tensor) -> tuple[float, float]:
    kept = torch.ones_like(x, dtype=torch.bool)
    slope, offset = 1.0, float((y - x).median())
    for _ in range(3):
        apart = (y - slope * x - offset).abs()
        kept = apart <= apart.quantile(1 - TRIMMED) if len(apart) < 10_000_000 else kept
        mean_x, mean_y = x[kept].mean(), y[kept].mean()
        variance = ((x[kept] - mean_x) ** 2).mean()
        if float(variance) < 1e-4:
            break
        found = float(((x[kept] - mean_x) * (y[kept] - mean_y)).mean() / variance)
        slope = min(max(found, 0.6), 1.6)
        offset = float(mean_y - slope * mean_x)
    return slope, offset


def _moved(values: Tensor, dx: int, dy: int) -> Tensor:
    """Moved right and down by whole pixels; the edge goes on."""
    if dx == dy == 0:
        return values
    height, width = values.shape[-2:]
    rows = (torch.arange(height) - dy).clamp(0, height - 1)
    columns = (torch.arange(width) - dx).clamp(0, width - 1)
    return values[:, rows][:, :, columns]
