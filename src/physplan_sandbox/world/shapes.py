"""Signed distances, in world units: negative inside. `u` points right, `v` points down, from the shape's
centre."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def circle(u: Array, v: Array, radius: float | Array) -> Array:
    return np.sqrt(u * u + v * v) - radius


def ellipse(u: Array, v: Array, a: float | Array, b: float | Array) -> Array:
    """An approximation that is exact at the axes and good near the edge."""
    a, b = np.maximum(a, 0.3), np.maximum(b, 0.3)
    k = np.sqrt((u / a) ** 2 + (v / b) ** 2)
    slope = np.sqrt((u / (a * a)) ** 2 + (v / (b * b)) ** 2)
    return np.where(k < 1e-3, -np.minimum(a, b), k * (k - 1.0) / np.maximum(slope, 1e-6))


def box(u: Array, v: Array, a: float | Array, b: float | Array, radius: float = 0.0) -> Array:
    du, dv = np.abs(u) - (a - radius), np.abs(v) - (b - radius)
    outside = np.sqrt(np.maximum(du, 0.0) ** 2 + np.maximum(dv, 0.0) ** 2)
    return outside + np.minimum(np.maximum(du, dv), 0.0) - radius


def trapezoid(u: Array, v: Array, top: float | Array, bottom: float | Array, b: float | Array) -> Array:
    """Half widths `top` at v = -b and `bottom` at v = +b."""
    half = top + (bottom - top) * np.clip((v + b) / (2 * b), 0.0, 1.0)
    lean = np.sqrt(1.0 + ((bottom - top) / (2 * b)) ** 2)
    return np.maximum((np.abs(u) - half) / lean, np.abs(v) - b)


def open_box(u: Array, v: Array, a: float | Array, b: float | Array, wall: float) -> Array:
    """A box without its top: two walls and a floor."""
    inside = box(u, v + wall, a - wall, b)
    return np.maximum(box(u, v, a, b), -inside)


def horseshoe(u: Array, v: Array, a: float | Array, b: float | Array, thick: float) -> Array:
    """An arch on two legs, open below."""
    top = v + (b - a)
    arch = np.where(top < 0, np.sqrt(u * u + top * top), np.abs(u))
    band = np.abs(arch - (a - thick / 2)) - thick / 2
    return np.maximum(band, v - b)


def teardrop(u: Array, v: Array, a: float | Array, b: float | Array) -> Array:
    """Round below, pointed above."""
    t = np.clip((v + b) / (2 * b), 0.0, 1.0)
    half = a * np.sqrt(np.maximum(t * (1.0 - t**3), 0.0)) * 1.45
    return np.maximum(np.abs(u) - half, np.abs(v) - b) * 0.8


def capsule(
    u: Array, v: Array, first: tuple[Array, Array], last: tuple[Array, Array], radius: float
) -> Array:
    """A line of some width from the point `first` to the point `last`."""
    du, dv = last[0] - first[0], last[1] - first[1]
    along = ((u - first[0]) * du + (v - first[1]) * dv) / np.maximum(du * du + dv * dv, 1e-6)
    along = np.clip(along, 0.0, 1.0)
    return np.hypot(u - first[0] - along * du, v - first[1] - along * dv) - radius
