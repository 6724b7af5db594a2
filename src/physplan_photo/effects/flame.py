"""Flames: noise that runs along a tapering tongue, through the colours of a hot body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from physplan_photo.effects.noise import Array, clouds, read

RAMP = np.array(
    [[0, 0, 0], [0.55, 0.08, 0.01], [0.98, 0.36, 0.05], [1.0, 0.72, 0.2], [1.0, 0.95, 0.72]], np.float32
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tongue:
    """Base (x, y), half width and length in pixels; `down` for an engine's jet."""

    x: float
    y: float
    half: float
    length: float
    down: bool = False


def draw_flames(canvas: Array, tongues: Sequence[Tongue], now: float, seed: int, strength: float) -> Array:
    """Adds light to the canvas; returns its opacity [H, W]."""
    height, width = canvas.shape[:2]
    covered = np.zeros((height, width), np.float32)
    lengths = [
        _draw(canvas, covered, tongue, now + 0.31 * k, seed + 17 * k, strength)
        for k, tongue in enumerate(tongues)
    ]
    _glow(canvas, tongues, lengths, strength)
    return covered


def _draw(canvas: Array, covered: Array, tongue: Tongue, now: float, seed: int, strength: float) -> float:
    """One tongue onto both; its length."""
    height, width = canvas.shape[:2]
    length = float(tongue.length * (0.88 + 0.12 * np.sin(23 * now) * np.sin(7.1 * now + seed)) * strength)
    reach = 1.8 * tongue.half
    top, bottom = (
        (tongue.y - 0.15 * length, tongue.y + length)
        if tongue.down
        else (tongue.y - length, tongue.y + 0.1 * length)
    )
    x0, x1 = max(0, int(tongue.x - reach)), min(width, int(tongue.x + reach) + 1)
    y0, y1 = max(0, int(top)), min(height, int(bottom) + 1)
    if x0 >= x1 or y0 >= y1 or length < 2:
        return length
    ys, xs = np.mgrid[y0:y1, x0:x1].astype(np.float32)
    along = ((ys - tongue.y) if tongue.down else (tongue.y - ys)) / length
    noise = clouds(seed % 1000 + 3, 1.35)
    wide = max(tongue.half, 1.0)
    speed = 2.6 if tongue.down else 1.1
    ripple = read(noise, xs / (6 * wide) + 0.37, along * 0.35 * length / (6 * wide) - now * speed * 0.5)
    fine = read(noise, xs / (2.6 * wide) + 0.11, along * length / (4 * wide) - now * speed)
    across = (xs - tongue.x) / wide + (ripple - 0.5) * 1.1 * np.clip(along, 0, 1)
    narrow = np.clip(1 - np.clip(along, 0, 1) ** (0.9 if tongue.down else 0.75), 0.02, 1) * (
        1.0 if tongue.down else 1.15
    )
    heat = 1.25 - (across / narrow) ** 2 - 0.75 * np.clip(along, 0, 1) - 0.75 * (fine - 0.3)
    # Its foot is uneven and thin: it burns on a body, wherever that is.
    heat *= np.clip(1 + along * 9, 0, 1) if tongue.down else np.clip((along + 0.35 * fine - 0.1) / 0.4, 0, 1)
    heat = np.clip(heat, 0, 1) * min(1.0, strength * 2)
    place = heat * (len(RAMP) - 1.001)
    low = place.astype(int)
    share = (place - low)[..., None]
    light = RAMP[low] * (1 - share) + RAMP[low + 1] * share
    alpha = np.clip(heat * 1.6, 0, 1)
    under = canvas[y0:y1, x0:x1]
    under[:] = under * (1 - 0.85 * alpha[..., None]) + light
    seen = covered[y0:y1, x0:x1]
    np.maximum(seen, alpha, out=seen)
    return length


def _glow(canvas: Array, tongues: Sequence[Tongue], lengths: Sequence[float], strength: float) -> None:
    """Warm light on what is around, from a small copy of the picture."""
    height, width = canvas.shape[:2]
    small = (max(2, width // 8), max(2, height // 8))
    ys, xs = np.mgrid[0 : small[1], 0 : small[0]].astype(np.float32) * 8
    warm = np.zeros_like(xs)
    for tongue, length in zip(tongues, lengths, strict=True):
        y = tongue.y + (0.35 if tongue.down else -0.35) * length
        away = ((xs - tongue.x) ** 2 + (ys - y) ** 2) / (1.1 * max(length, tongue.half)) ** 2
        warm += 0.1 * strength * np.exp(-1.6 * away)
    light = cv2.resize(warm, (width, height))[..., None] * np.array([1.0, 0.55, 0.2], np.float32)
    canvas += light * (0.25 + canvas)
