"""Appearance changes of objects that stay in place: colour, wetness, light."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from physplan_sandbox.editor.frame_geometry import Box
from physplan_sandbox.world.sprites import PALETTE

Array = NDArray[np.float32]
Mask = NDArray[np.bool_]


def tint(image: Array, mask: Mask, color: str) -> Array:
    """The thing in another colour, with the shades that it had."""
    wanted = np.array(PALETTE.get(color.split(",")[0], PALETTE["grey"]), np.float32)
    light = image[mask].mean(-1, keepdims=True)
    shades = light / max(float(light.mean()), 1e-3)
    changed = image.copy()
    changed[mask] = np.clip(0.12 * image[mask] + 0.88 * wanted * shades, 0, 1)
    return changed


def wet(image: Array, mask: Mask, how: str) -> Array:
    """A dish darkens all over; fabric darkens from its middle outwards."""
    box = Box.of(mask)
    reach = {"damp in the middle": 0.33, "soaked": 0.74}.get(how)
    floor = np.arange(mask.shape[0])[:, None] < box.top + 0.55 * box.height
    weight = gaussian_filter((mask & floor).astype(np.float32), 0.6) * 0.35
    if reach is not None:
        rows, columns = np.mgrid[0 : mask.shape[0], 0 : mask.shape[1]].astype(np.float32)
        across = (columns - box.x) / (0.5 * box.width * reach)
        down = (rows - box.y) / (0.5 * box.height * min(1.6 * reach, 1.25))
        spot = 1 / (1 + np.exp(9 * (np.hypot(across, down) - 1)))
        weight = spot * (gaussian_filter(mask.astype(np.float32), 0.5) > 0.7)
    dark = image * 0.46 + (np.array([0.0, 0.02, 0.05], np.float32) if reach is None else 0)
    return image * (1 - weight[..., None]) + np.clip(dark, 0, 1) * weight[..., None]


def brightened(image: Array, mask: Mask) -> Array:
    """Brightened as by a lamp close by."""
    weight = np.clip(gaussian_filter(mask.astype(np.float32), 0.6) * 1.3 - 0.15, 0, 1)[..., None]
    return image * (1 - weight) + np.clip(image * 1.42 + 0.17, 0, 1) * weight


def glowing(image: Array, mask: Mask, to_right: bool) -> Array:
    """A lamp whose bulb shines at the open side of its head."""
    box = Box.of(mask)
    unit = mask.shape[0] / 96
    rows, columns = np.nonzero(mask)
    head = rows <= box.top + 0.25 * box.height
    x = columns[head].mean() + (3.4 if to_right else -3.4) * unit
    y = rows[head].mean() + 2.6 * unit
    grid_y, grid_x = np.mgrid[0 : mask.shape[0], 0 : mask.shape[1]].astype(np.float32)
    distance = np.hypot(grid_x - x, grid_y - y) / unit
    bulb = np.clip(3.1 - distance, 0, 1)[..., None]
    halo = 0.45 * np.exp(-((distance / 5.0) ** 2))[..., None]
    image = image * (1 - halo) + np.array([1.0, 0.92, 0.55], np.float32) * halo
    return image * (1 - bulb) + np.array([1.0, 0.95, 0.66], np.float32) * bulb


def contact_shadow(image: Array, x: float, row: float, half: float, unit: float) -> Array:
    grid_y, grid_x = np.mgrid[0 : image.shape[0], 0 : image.shape[1]].astype(np.float32)
    spot = ((grid_x - x) / max(half, 1.0)) ** 4 + ((grid_y - row) / (2.4 * unit)) ** 2
    return image * (1 - 0.30 * np.exp(-1.2 * spot))[..., None]
