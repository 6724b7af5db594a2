"""Masks and pictures as tensors: grow, soften, fill, and paste turned and scaled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

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
    wide = mask if reach > 0 else ~mask
    for axis in (0, 1):
        wide = _spread(wide, abs(reach), axis)
    return wide if reach > 0 else ~wide


def _spread(mask: Tensor, reach: int, axis: int) -> Tensor:
    """True up to `reach` pixels to both sides along one axis, by shifts that double."""
    found, length = mask.clone(), mask.shape[axis]
    for forwards in (True, False):
        side, covered = mask.clone(), 0
        while covered < min(reach, length - 1):
            step = min(covered + 1, reach - covered, length - 1)
            near, far = side.narrow(axis, 0, length - step), side.narrow(axis, step, length - step)
            side = side.clone()
            side.narrow(axis, step if forwards else 0, length - step).logical_or_(near if forwards else far)
            covered += step
        found |= side
    return found


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
    half = partial(F.avg_pool2d, kernel_size=2, ceil_mode=True, count_include_pad=False)
    levels = [(image * known, known)]
    while min(levels[-1][0].shape[-2:]) > 1 and (levels[-1][1] == 0).any():
        colour, weight = (half(values[None])[0] for values in levels[-1])
        levels.append((colour / weight.clamp_min(1e-6) * (weight > 0), (weight > 0).to(image.dtype)))
    filled = levels[-1][0]
    for colour, weight in reversed(levels[:-1]):
        larger = F.interpolate(filled[None], colour.shape[-2:], mode="bilinear", align_corners=False)[0]
        filled = colour * weight + larger * (1 - weight)
    return torch.where(hole[None], filled, image)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Patch:
    """A layer where it shows anything: colours times opacity and opacity, and the rows and columns."""

    pixels: Tensor  # [4, h, w]
    rows: slice
    columns: slice

    @classmethod
    def of(cls, layer: Tensor) -> Patch | None:
        """The part of a layer [4, H, W] that is not clear."""
        shows = layer[3] > 0
        if not shows.any():
            return None
        rows, columns = window(shows)
        return cls(pixels=layer[:, rows, columns], rows=rows, columns=columns)

    def onto(self, canvas: Tensor) -> None:
        """Drawn over the canvas [3, H, W], in place."""
        under = canvas[:, self.rows, self.columns]
        under.mul_(1 - self.pixels[3:]).add_(self.pixels[:3])


def placed(
    layer: Tensor, centre: Point, place: Point, *, angle: float = 0.0, scale: tuple[float, float] = (1.0, 1.0)
) -> Tensor:
    """A layer [C, H, W] with its point `centre` (x, y) at `place`, turned clockwise by degrees, then scaled.

    Nothing to do returns the layer itself, so that what does not move stays exactly what it was.
    """
    if place == centre and angle == 0.0 and scale == (1.0, 1.0):
        return layer
    height, width = layer.shape[-2:]
    return _sampled(
        layer, slice(0, height), slice(0, width), Pose(centre=centre, place=place, angle=angle, scale=scale)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pose:
    """The point `centre` of a layer comes to `place`; turned about it clockwise by degrees, then scaled."""

    centre: Point
    place: Point
    angle: float = 0.0
    scale: tuple[float, float] = (1.0, 1.0)

    @property
    def still(self) -> bool:
        return self.place == self.centre and self.angle == 0.0 and self.scale == (1.0, 1.0)

    def forward(self, x: float, y: float) -> Point:
        """Where a point of the layer comes to."""
        cosine, sine = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        dx, dy = x - self.centre[0], y - self.centre[1]
        return (
            self.place[0] + max(self.scale[0], 1e-3) * (cosine * dx - sine * dy),
            self.place[1] + max(self.scale[1], 1e-3) * (sine * dx + cosine * dy),
        )


def placed_patch(layer: Tensor, rows: slice, columns: slice, pose: Pose) -> Patch | None:
    """The layer [4, H, W] posed, computed only where its `rows` and `columns` come to; None out of sight."""
    if pose.still:
        return Patch(pixels=layer[:, rows, columns], rows=rows, columns=columns)
    height, width = layer.shape[-2:]
    corners = [
        pose.forward(x, y)
        for x in (columns.start - 1, columns.stop + 1)
        for y in (rows.start - 1, rows.stop + 1)
    ]
    left, right = (bound(x for x, _ in corners) for bound in (min, max))
    top, bottom = (bound(y for _, y in corners) for bound in (min, max))
    across = slice(max(0, math.floor(left) - 1), min(width, math.ceil(right) + 1))
    down = slice(max(0, math.floor(top) - 1), min(height, math.ceil(bottom) + 1))
    if across.start >= across.stop or down.start >= down.stop:
        return None
    return Patch(pixels=_sampled(layer, down, across, pose), rows=down, columns=across)


def _sampled(layer: Tensor, rows: slice, columns: slice, pose: Pose) -> Tensor:
    """The rows and columns of the layer as it is posed."""
    height, width = layer.shape[-2:]
    ys, xs = torch.meshgrid(
        torch.arange(rows.start, rows.stop) + 0.5,
        torch.arange(columns.start, columns.stop) + 0.5,
        indexing="ij",
    )
    place, scale, centre = pose.place, pose.scale, pose.centre
    dx, dy = (xs - place[0]) / max(scale[0], 1e-3), (ys - place[1]) / max(scale[1], 1e-3)
    cosine, sine = math.cos(math.radians(pose.angle)), math.sin(math.radians(pose.angle))
    x, y = centre[0] + cosine * dx + sine * dy, centre[1] - sine * dx + cosine * dy
    grid = torch.stack([2 * x / width - 1, 2 * y / height - 1], dim=-1)
    return F.grid_sample(layer[None], grid[None].to(layer), mode="bilinear", align_corners=False)[0]


def window(mask: Tensor) -> tuple[slice, slice]:
    """The rows and columns that hold a mask [H, W]."""
    left, top, right, bottom = (int(edge) for edge in box(mask))
    return slice(top, bottom), slice(left, right)


def box(mask: Tensor) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) of a mask [H, W], in pixels."""
    rows, columns = torch.nonzero(mask.any(1)).flatten(), torch.nonzero(mask.any(0)).flatten()
    return float(columns[0]), float(rows[0]), float(columns[-1]) + 1, float(rows[-1]) + 1
