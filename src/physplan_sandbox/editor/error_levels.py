"""Simulated editor errors at documented levels, deterministic per seed.

0  the simulator's frame (`TruthEditor`)
1  the editor's drawing: its contours, shades and distances
2  also: a shift of up to 2 % of the side, gamma and tint, softer contours, one bystander recoloured
3  also: twice the shift and tint, warped contours, one invented object
4  instead of shift, gamma and tint: errors that no shift and no tone scale undoes. Every place moves by an
   amount of its own (perspective, a smooth warp, up to some 5 % of the side), channels bend by S-curves
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates

from physplan_sandbox.editor.new_things import around, paint
from physplan_sandbox.world.sprites import PALETTE

Array = NDArray[np.float32]
Mask = NDArray[np.bool_]

LEVELS = (0, 1, 2, 3, 4)
SHIFT_PER_LEVEL = 0.02  # of the picture's side, per level above 1
INVENTED = ("apple", "cup", "ball", "bottle")


def apply_errors(
    image: Array, level: int, *, seed: int = 0, bystanders: Mapping[str, Mask] | None = None
) -> Array:
    """The picture [H, W, 3] in [0, 1] with the errors of a level. Bystanders: masks that no edit names."""
    if level <= 1:
        return image
    strength = level - 1
    rng = np.random.default_rng([seed, level])
    if bystanders:
        image = _recoloured(image, bystanders[str(rng.choice(sorted(bystanders)))], rng)
    if level >= 3:
        image = _invented(image, bystanders or {}, rng)
    if level == 4:
        return _bent_tones(_warped(image, rng), rng)
    image = _displaced(image, strength, rng)
    gamma = float(np.exp(rng.choice([-1, 1]) * 0.10 * strength))
    tint = 1 + rng.uniform(-0.05, 0.05, 3).astype(np.float32) * strength
    return np.clip(np.clip(image, 0, 1) ** gamma * tint, 0, 1).astype(np.float32)


def _displaced(image: Array, strength: int, rng: np.random.Generator) -> Array:
    """Shifted as a whole, and, beyond the first strength, wavy; with softer contours."""
    height, width = image.shape[:2]
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    dx, dy = (
        rng.choice([-1, 1], 2)
        * rng.uniform(0.6, 1.0, 2)
        * SHIFT_PER_LEVEL
        * strength
        * np.array([width, height])
    )
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


def _warped(image: Array, rng: np.random.Generator) -> Array:
    """Perspective with corners off by up to 4 % of the side, and a smooth warp of 1.2 % (deviation)."""
    height, width = image.shape[:2]
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    y, x = rows / (height - 1), columns / (width - 1)
    corners = rng.uniform(-0.04, 0.04, (2, 2, 2)).astype(np.float32)  # of dy and dx at each corner
    where = []
    for place, side, at in zip((rows, columns), (height, width), corners, strict=True):
        tilt = (1 - y) * ((1 - x) * at[0, 0] + x * at[0, 1]) + y * ((1 - x) * at[1, 0] + x * at[1, 1])
        smooth = gaussian_filter(rng.standard_normal((height, width)).astype(np.float32), height / 6)
        where.append(place + side * (tilt + 0.012 * smooth / max(float(smooth.std()), 1e-6)))
    return np.stack(
        [map_coordinates(image[..., k], where, order=1, mode="nearest") for k in range(3)], axis=-1
    ).astype(np.float32)


def _bent_tones(image: Array, rng: np.random.Generator) -> Array:
    """A curve per channel that lifts dark tones and lowers bright ones, or the other way round."""
    bend = rng.uniform(-0.7, 0.7, 3).astype(np.float32)
    image = np.clip(image, 0, 1)
    return np.clip(image + bend * np.sin(2 * np.pi * image) / (2 * np.pi), 0, 1).astype(np.float32)


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
