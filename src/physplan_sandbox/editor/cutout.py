"""Things cut out of the picture, to be moved, turned and scaled, and pasted again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import (
    affine_transform,
    binary_dilation,
    binary_erosion,
    binary_fill_holes,
    gaussian_filter,
)

Array = NDArray[np.float32]
Mask = NDArray[np.bool_]

#: The opacity of sheets of coloured glass; and what is clear, with an inside that its outline encloses.
SHEETS: Mapping[str, float] = {"pane": 0.62}
CLEAR = ("jar", "glass")


@dataclass(frozen=True, kw_only=True)
class Pose:
    """p -> pivot + turned(scaled(p - pivot)) + shift, in pixels, y down; `angle` in degrees, clockwise."""

    shift: tuple[float, float] = (0.0, 0.0)
    angle: float = 0.0
    scale: tuple[float, float] = (1.0, 1.0)
    pivot: tuple[float, float] = (0.0, 0.0)

    def moved(self, dx: float, dy: float) -> Pose:
        return replace(self, shift=(self.shift[0] + dx, self.shift[1] + dy))

    def apply(self, x: float, y: float) -> tuple[float, float]:
        c, s = np.cos(np.radians(self.angle)), np.sin(np.radians(self.angle))
        u, v = (x - self.pivot[0]) * self.scale[0], (y - self.pivot[1]) * self.scale[1]
        return self.pivot[0] + c * u - s * v + self.shift[0], self.pivot[1] + s * u + c * v + self.shift[1]


@dataclass(frozen=True, kw_only=True)
class Cutout:
    """Colour [H, W, 3] and opacity [H, W] of one thing, in the whole picture's frame."""

    color: Array
    alpha: Array

    @classmethod
    def of(cls, image: Array, mask: Mask, category: str, plate: Array) -> Cutout:
        """`plate` is the picture without the thing: what shines through glass is taken out of its colour."""
        if category in CLEAR:
            alpha = matte(image, mask, plate, clear=True)
            return cls(color=_unmixed(image, np.maximum(alpha, 0.15), plate, least=0.15), alpha=alpha)
        softness = 0.5 * mask.shape[0] / 96
        alpha = np.clip(gaussian_filter(mask.astype(np.float32), softness) * 1.25 - 0.1, 0, 1)
        color = _edged(_spread(_unmixed(image, alpha, plate), mask), mask)
        if opacity := SHEETS.get(category):
            color = np.clip((color - (1 - opacity) * plate) / opacity, 0, 1)
            alpha = alpha * opacity
        return cls(color=color.astype(np.float32), alpha=alpha.astype(np.float32))

    def posed(self, pose: Pose) -> Cutout:
        """The thing in its new pose; what is only moved goes by whole pixels and stays sharp."""
        if not pose.angle and pose.scale == (1.0, 1.0):
            pose = replace(pose, shift=(float(round(pose.shift[0])), float(round(pose.shift[1]))))
        c, s = np.cos(np.radians(pose.angle)), np.sin(np.radians(pose.angle))
        forward = np.array([[c, -s], [s, c]]) @ np.diag(pose.scale)  # of (x, y)
        inverse = np.linalg.inv(forward)[::-1, ::-1]  # of (row, column)
        target = np.array([pose.pivot[1] + pose.shift[1], pose.pivot[0] + pose.shift[0]])
        offset = np.array([pose.pivot[1], pose.pivot[0]]) - inverse @ target
        alpha = affine_transform(self.alpha, inverse, offset, order=1)
        channels = [
            affine_transform(self.color[..., k], inverse, offset, order=1, mode="nearest") for k in range(3)
        ]
        return Cutout(color=np.stack(channels, axis=-1), alpha=alpha)

    def onto(self, canvas: Array) -> Array:
        weight = self.alpha[..., None]
        return canvas * (1 - weight) + self.color * weight


def matte(image: Array, mask: Mask, plate: Array, *, clear: bool = False) -> Array:
    """Opacity [H, W] of a thing from where it differs from the picture without it: finer than a coarse mask.

    What is well inside the mask belongs to it in any case, unless it is clear glass.
    """
    unit = max(1, round(mask.shape[0] / 96))
    reach = binary_dilation(
        binary_fill_holes(mask) if clear else mask, iterations=2 * unit if clear else unit
    )
    difference = gaussian_filter(np.abs(image - plate).max(-1), 0.3 * unit)
    soft = (
        np.clip((difference - 0.03) / 0.13, 0, 0.95) if clear else np.clip((difference - 0.07) / 0.10, 0, 1)
    )
    core = binary_erosion(mask, iterations=unit) & (not clear)
    return np.where(core, 1.0, soft * reach).astype(np.float32)


def _unmixed(image: Array, alpha: Array, plate: Array, least: float = 0.4) -> Array:
    """Pixels at an edge are part thing, part background: what they would be without the background."""
    share = np.maximum(alpha, least)[..., None]
    return np.clip((image - (1 - share) * plate) / share, 0, 1)


def _edged(color: Array, mask: Mask) -> Array:
    """No edge pixel is brighter than the thing inside: a bright rim is a trace of the old background."""
    inner = binary_erosion(mask, iterations=max(1, round(mask.shape[0] / 96)))
    if inner.sum() < 0.3 * mask.sum():
        return color
    return np.where(inner[..., None], color, np.minimum(color, _spread(color, inner)))


def _spread(image: Array, mask: Mask) -> Array:
    """The thing's own colour continued beyond its edge, so that no background is carried along."""
    weight = mask.astype(np.float32)
    radius = 1.2 * mask.shape[0] / 96
    total = gaussian_filter(weight, radius)
    around = np.stack([gaussian_filter(image[..., k] * weight, radius) for k in range(3)], axis=-1)
    around /= np.maximum(total, 1e-4)[..., None]
    return np.where(mask[..., None], image, np.clip(around, 0, 1))
