"""Steam: a swaying plume of streaks that rise, widen and thin out."""

from __future__ import annotations

import numpy as np

from physplan_photo.effects.noise import Array, clouds, read

COLOUR = (0.97, 0.975, 0.98)
OPACITY = 0.92
RISE_SPEED = 0.45  # heights of the frame a second
WISP_HEIGHT = 0.62  # heights of the frame


def draw_wisps(
    canvas: Array, source: tuple[float, float, float], now: float, seed: int, strength: float
) -> Array:
    """`source`: x, y and half width in pixels. Returns the opacity [H, W]."""
    height, width = canvas.shape[:2]
    covered = np.zeros((height, width), np.float32)
    x, y, half = source
    tall = WISP_HEIGHT * height
    top, bottom = max(0, int(y - tall)), min(height, int(y) + 1)
    left, right = max(0, int(x - 3.2 * half)), min(width, int(x + 3.2 * half) + 1)
    if now <= 0 or strength <= 0 or top >= bottom or left >= right:
        return covered
    ys, xs = np.mgrid[top:bottom, left:right].astype(np.float32)
    up = (y - ys) / tall
    turn = 2 * np.pi * (1.1 * up - 0.3 * now) + seed % 7
    across = (xs - x - half * 0.75 * up * np.sin(turn)) / (half * (0.8 + 1.3 * up))
    body = np.exp(-1.6 * across**2) * np.clip(up / 0.07, 0, 1) * np.clip(1 - up, 0, 1) ** 0.8
    body *= np.clip((now * RISE_SPEED * 1.6 * height / tall + 0.12 - up) / 0.12, 0, 1)  # it has risen so far
    noise = clouds(seed % 1000 + 9, 1.75)
    drift = now * RISE_SPEED * height
    bent = read(noise, xs / (9 * half), (ys + 0.6 * drift) / (9 * half)) - 0.5
    streak = read(noise, xs / (6 * half) + 0.3 * bent + 0.21, (ys + drift) / (14 * half) + 0.12 * bent)
    fine = read(noise, xs / (2.6 * half) + 0.35 * bent, (ys + 1.15 * drift) / (6 * half))
    alpha = body * np.clip(2.8 * (0.7 * streak + 0.3 * fine) - 0.75, 0, 1) * OPACITY * min(1.0, strength)
    under = canvas[top:bottom, left:right]
    under += (np.asarray(COLOUR, np.float32) - under) * alpha[..., None]
    covered[top:bottom, left:right] = alpha
    return covered
