"""Boxes of objects in heights of the frame, y downwards; masks are bool [H, W]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Extent:
    """The smallest box around an object."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def centre(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def moved(self, dx: float, dy: float) -> Extent:
        return Extent(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)

    def scaled(self, scale: float) -> Extent:
        """About the middle of its lower edge, on which it stands."""
        x = self.centre[0]
        half = self.width * scale / 2
        return Extent(x - half, self.bottom - self.height * scale, x + half, self.bottom)


def extent_of(mask: Mask) -> Extent:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    height = mask.shape[0]
    return Extent(columns[0] / height, rows[0] / height, (columns[-1] + 1) / height, (rows[-1] + 1) / height)


def foot_of(mask: Mask, share: float = 0.06) -> Mask:
    """The lowest rows of an object: what it stands on begins there."""
    rows = np.flatnonzero(mask.any(1))
    first = rows[-1] - max(1, round(share * (rows[-1] - rows[0] + 1)))
    found = mask.copy()
    found[:first] = False
    return found


def surface_at(mask: Mask, x: float) -> float | None:
    """The height at which something comes down on an object at the column x (in heights of the frame).

    On top of a thing; on a wide ground, seen from above, a third down its depth.
    """
    height, width = mask.shape
    column = min(max(round(x * height), 0), width - 1)
    rows = np.flatnonzero(mask[:, column])
    if not len(rows):
        return None
    top, bottom = rows[0] / height, (rows[-1] + 1) / height
    wide = mask.any(0).sum() / width > 0.6 and mask.mean() > 0.15
    return float(top + (bottom - top) * (0.35 if wide else 0.0))
