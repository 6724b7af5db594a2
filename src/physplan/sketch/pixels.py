"""Masks and pictures as tensors: grow, soften, fill, and paste turned and scaled."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor
from torch.nn import functional as F

Point = tuple[float, float]

FAR, LITTLE = 0.15, 0.2  # of the height; of a mask: parts of it that are farther and smaller are other things


def grow(mask: Tensor, reach: int) -> Tensor:
    """A bool mask [H, W] wider by `reach` pixels (narrower where it is negative)."""
    if reach == 0:
        return mask
    values = mask[None, None].float() if reach > 0 else 1 - mask[None, None].float()
    wide = F.max_pool2d(values, 2 * abs(reach) + 1, stride=1, padding=abs(reach))[0, 0] > 0
    return wide if reach > 0 else ~wide


def without_specks(mask: Tensor, share: float) -> Tensor:
    """A bool mask [H, W] without the parts that hold less than a share of its pixels, or little and far away:
    a thing that another cuts in two has its parts near each other."""
    labels, count = ndimage.label(mask.cpu().numpy(), structure=np.ones((3, 3)))
    if count < 2:
        return mask
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    apart = ndimage.distance_transform_edt(labels != sizes.argmax())
    away = ndimage.minimum(apart, labels, range(count + 1)) > FAR * mask.shape[0]
    kept = sizes >= np.where(away, LITTLE, share) * sizes.sum()
    return torch.from_numpy(kept[labels] & (labels > 0)).to(mask.device)


def parts(mask: Tensor) -> list[Tensor]:
    """The parts of a bool mask [H, W] that do not touch, each a mask."""
    labels, count = ndimage.label(mask.cpu().numpy(), structure=np.ones((3, 3)))
    return [torch.from_numpy(labels == k).to(mask.device) for k in range(1, count + 1)]


def soften(mask: Tensor, reach: float) -> Tensor:
    """A bool mask [H, W] as opacity in [0, 1], with an edge of about `reach` pixels around its outline."""
    if reach < 0.5:
        return mask.float()
    size = 2 * math.ceil(2 * reach) + 1
    offsets = torch.arange(size) - size // 2
    kernel = torch.exp(-0.5 * (offsets / reach) ** 2)
    kernel = (kernel / kernel.sum()).to(mask.device)
    padded = F.pad(mask[None, None].float(), (size // 2,) * 4, mode="replicate")
    blurred = F.conv2d(F.conv2d(padded, kernel[None, None, None]), kernel[None, None, :, None])
    return blurred[0, 0]


def fill(image: Tensor, hole: Tensor) -> Tensor:
    """[3, H, W] with the hole [H, W] filled from around it: averages of ever coarser grids, then smoothed."""
    if not hole.any():
        return image
    known = (~hole)[None].to(image.dtype)
    levels = [(image * known, known)]
    while min(levels[-1][0].shape[-2:]) > 1 and (levels[-1][1] == 0).any():
        colour, weight = (_halved(values) for values in levels[-1])
        levels.append((colour / weight.clamp_min(1e-6) * (weight > 0), (weight > 0).to(image.dtype)))
    filled = levels[-1][0]
    for colour, weight in reversed(levels[:-1]):
        larger = F.interpolate(filled[None], colour.shape[-2:], mode="bilinear", align_corners=False)[0]
        filled = colour * weight + larger * (1 - weight)
    return torch.where(hole[None], filled, image)


def _halved(values: Tensor) -> Tensor:
    return F.avg_pool2d(values[None], 2, ceil_mode=True, count_include_pad=False)[0]


def placed(
    layer: Tensor, centre: Point, place: Point, *, angle: float = 0.0, scale: tuple[float, float] = (1.0, 1.0)
) -> Tensor:
    """A layer [C, H, W] with its point `centre` (x, y) at `place`, turned clockwise by degrees, then scaled.

    Nothing to do returns the layer itself, so that what does not move stays exactly what it was.
    """
    if place == centre and angle == 0.0 and scale == (1.0, 1.0):
        return layer
    height, width = layer.shape[-2:]
    ys, xs = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
    dx, dy = (xs - place[0]) / max(scale[0], 1e-3), (ys - place[1]) / max(scale[1], 1e-3)
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    x, y = centre[0] + cosine * dx + sine * dy, centre[1] - sine * dx + cosine * dy
    grid = torch.stack([2 * x / width - 1, 2 * y / height - 1], dim=-1)
    return F.grid_sample(layer[None], grid[None].to(layer), mode="bilinear", align_corners=False)[0]


def box(mask: Tensor) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) of a mask [H, W], in pixels."""
    rows, columns = torch.nonzero(mask.any(1)).flatten(), torch.nonzero(mask.any(0)).flatten()
    return float(columns[0]), float(rows[0]), float(columns[-1]) + 1, float(rows[-1]) + 1
