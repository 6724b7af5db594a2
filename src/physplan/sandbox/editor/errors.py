"""How an editor errs beyond its own hand: documented levels, the same for the same seed.

0  the simulator's frame (`TruthEditor`)
1  the editor's own drawing: its contours, shades and distances
2  also: the picture shifted by up to 2 % of its side, gamma and tint, softer contours, a bystander recoloured
3  also: twice the shift and tint, contours displaced, and an object that nobody asked for
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates

from physplan.sandbox.editor.new_things import around, paint
from physplan.sandbox.world.sprites import PALETTE

Array = NDArray[np.float32]
Mask = NDArray[np.bool_]

LEVELS = (0, 1, 2, 3)
SHIFT = 0.02  # of the picture's side, per level above 1
INVENTED = ("apple", "cup", "ball", "bottle")


def err(image: Array, level: int, *, seed: int = 0, bystanders: Mapping[str, Mask] | None = None) -> Array:
    """The picture [H, W, 3] in [0, 1] with the errors of a level. Bystanders: masks that no edit names."""
    if level <= 1:
        return image
    strength = level - 1
    rng = np.random.default_rng([seed, level])
    if bystanders:
        image = _recoloured(image, bystanders[str(rng.choice(sorted(bystanders)))], rng)
    if level >= 3:
        image = _invented(image, bystanders or {}, rng)
    image = _displaced(image, strength, rng)
    gamma = float(np.exp(rng.choice([-1, 1]) * 0.10 * strength))
    tint = 1 + rng.uniform(-0.05, 0.05, 3).astype(np.float32) * strength
    return np.clip(np.clip(image, 0, 1) ** gamma * tint, 0, 1).astype(np.float32)


def _displaced(image: Array, strength: int, rng: np.random.Generator) -> Array:
    """Shifted as a whole, and, beyond the first strength, wavy; with softer contours."""
    height, width = image.shape[:2]
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    dx, dy = rng.choice([-1, 1], 2) * rng.uniform(0.6, 1.0, 2) * SHIFT * strength * np.array([width, height])
    waves = np.zeros((2, height, width), np.float32)
    if strength > 1:
        noise = rng.standard_normal((2, height, width)).astype(np.float32)
        waves = np.stack([gaussian_filter(n, height / 14) for n in noise])
        waves *= 0.012 * height / max(float(waves.std()), 1e-6)
    where = [rows - dy + waves[0], columns - dx + waves[1]]
    moved = np.stack(
        [map_coordinates(image[..., k], where, order=1, mode="nearest") for k in range(3)], axis=-1
    )
    soft = 0.25 * strength * height / 96
    return np.stack([gaussian_filter(moved[..., k], soft) for k in range(3)], axis=-1)


def _recoloured(image: Array, mask: Mask, rng: np.random.Generator) -> Array:
    """The thing's hue turned, its shades kept."""
    turn = float(rng.uniform(0.2, 0.8))
    changed = image.copy()
    for index, (r, g, b) in zip(np.argwhere(mask), image[mask], strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(float(r), float(g), float(b))
        color = colorsys.hsv_to_rgb((hue + turn) % 1, max(saturation, 0.35), value)
        changed[tuple(index)] = color
    return changed


def _invented(image: Array, taken: Mapping[str, Mask], rng: np.random.Generator) -> Array:
    """Something on the table that was not there, where the fewest bystanders are."""
    unit = image.shape[0] / 96
    places = [(x * image.shape[1], 0.93 * image.shape[0]) for x in rng.uniform(0.1, 0.9, 6)]
    crowd = [
        sum(float(m[:, max(int(x - 8 * unit), 0) : int(x + 8 * unit)].sum()) for m in taken.values())
        for x, _ in places
    ]
    x, base = places[int(np.argmin(crowd))]
    kind = str(rng.choice(INVENTED))
    high = (22 if kind == "bottle" else 13) * unit
    color = PALETTE[str(rng.choice(sorted(PALETTE)))]
    wide = (10 if kind == "bottle" else 14) * unit
    return paint(image, kind, around(x, base - high / 2, wide, high), unit=unit, color=color)
