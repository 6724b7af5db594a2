"""Liquids that lie on a ground or fill a vessel: darker, glossy, with a bright rim; drops and sparks."""

from __future__ import annotations

import cv2
import numpy as np

from physplan_photo.effects.noise import Array, clouds, read

TINTS = {
    "coffee": ((0.17, 0.09, 0.045), 0.9),
    "tea": ((0.4, 0.2, 0.06), 0.7),
    "milk": ((0.95, 0.94, 0.9), 0.92),
    "wine": ((0.3, 0.02, 0.06), 0.85),
    "blood": ((0.35, 0.01, 0.02), 0.9),
    "juice": ((0.95, 0.55, 0.08), 0.8),
    "oil": ((0.09, 0.08, 0.06), 0.85),
    "paint": ((0.75, 0.12, 0.1), 0.95),
    "lava": ((1.0, 0.35, 0.05), 0.95),
}
CLEAR = ((0.42, 0.5, 0.56), 0.3)


def tint_of(category: str) -> tuple[tuple[float, float, float], float]:
    return next((tint for name, tint in TINTS.items() if name in category), CLEAR)


def puddle_shape(
    size: tuple[int, int], centre: tuple[float, float], radii: tuple[float, float], seed: int
) -> Array:
    """Opacity [H, W] of a puddle with an uneven edge."""
    height, width = size
    ys, xs = np.mgrid[0:height, 0:width].astype(np.float32)
    dx, dy = (xs - centre[0]) / max(radii[0], 1), (ys - centre[1]) / max(radii[1], 1)
    turn = np.arctan2(dy, dx)
    noise = clouds(seed % 1000 + 11, 1.8)
    ring = read(noise, 0.5 + 0.18 * np.cos(turn), 0.5 + 0.18 * np.sin(turn))
    edge = np.hypot(dx, dy) - (0.78 + 0.36 * ring)
    return np.clip(0.5 - edge * min(radii) / 1.6, 0, 1).astype(np.float32)


def draw_liquid(canvas: Array, shape: Array, category: str, now: float, seed: int) -> Array:
    """Darkens and tints what is under the liquid, with the scene above mirrored in it."""
    rows, columns = np.flatnonzero(shape.any(1)), np.flatnonzero(shape.any(0))
    if not len(rows):
        return shape
    y0, y1, x0, x1 = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    alpha, under = shape[y0:y1, x0:x1, None], canvas[y0:y1, x0:x1]
    tint, opaque = tint_of(category)
    mirror = canvas[np.clip(2 * y0 - np.arange(y0, y1) - 1, 0, None), x0:x1]
    mirror = cv2.GaussianBlur(mirror, (0, 0), max(1.0, 0.006 * len(canvas)))
    ys, xs = np.mgrid[y0:y1, x0:x1].astype(np.float32)
    scale = max(y1 - y0, 8)
    waves = read(clouds(seed % 1000 + 5, 1.9), xs / (6 * scale) + 0.03 * now, ys / (1.6 * scale) + 0.02 * now)
    body = under * 0.72 * (1 - opaque) + np.asarray(tint, np.float32) * opaque * (
        0.75 + 0.4 * waves[..., None]
    )
    body = body * 0.8 + 0.2 * mirror
    inner = cv2.GaussianBlur(shape[y0:y1, x0:x1], (0, 0), max(1.2, 0.006 * len(canvas)))
    rim = np.clip(alpha[..., 0] - inner, 0, 1)
    upper = np.clip(cv2.Sobel(inner, cv2.CV_32F, 0, 1, ksize=3), 0, 1)
    spots = np.clip((waves - 0.86) * 9, 0, 1) * np.clip(inner * 2 - 1, 0, 1)
    light = (0.35 * rim + 0.3 * upper + 0.45 * spots)[..., None]
    under[:] = under * (1 - alpha) + np.clip(body + light, 0, 1) * alpha
    return shape


def draw_drops(
    canvas: Array, source: tuple[float, float, float], floor: float, now: float, seed: int, category: str
) -> Array:
    """Drops that come off a source (x, y, half width) and fall to `floor`."""
    height, width = canvas.shape[:2]
    covered = np.zeros((height, width), np.float32)
    random = np.random.default_rng(seed)
    tint, _ = tint_of(category)
    for _ in range(28):
        born, across, size = random.random(3)
        age = (now - born * 0.9) % 0.9
        if now < born * 0.9:
            continue
        x = source[0] + (2 * across - 1) * source[2]
        y = source[1] + 1.3 * height * age**2
        radius = height * (0.003 + 0.004 * size)
        if y > floor or not (0 <= x < width and 0 <= y < height):
            continue
        axes = (max(1, round(radius)), max(1, round(radius * (1 + 2 * age))))
        layer = np.zeros_like(covered)
        cv2.ellipse(layer, (round(x), round(y)), axes, 0, 0, 360, 0.75, -1, cv2.LINE_AA)
        canvas += (np.asarray(tint, np.float32) * 1.15 - canvas) * layer[..., None] * 0.8
        cv2.circle(
            canvas,
            (round(x - radius / 3), round(y - radius / 3)),
            max(1, round(radius / 3)),
            (0.97, 0.98, 1.0),
            -1,
            cv2.LINE_AA,
        )
        covered = np.maximum(covered, layer)
    return covered


def draw_sparks(
    canvas: Array, source: tuple[float, float, float], now: float, seed: int, strength: float
) -> Array:
    """Glowing bits that fly off and fall, as streaks."""
    height, width = canvas.shape[:2]
    layer = np.zeros((height, width), np.float32)
    random = np.random.default_rng(seed)
    for _ in range(70):
        born, turn, speed, last = random.random(4)
        age = (now - born * 0.6) % 0.75
        if now < born * 0.6:
            continue
        ends = []
        for t in (age, max(0.0, age - 0.025)):
            x = source[0] + height * 0.55 * speed * np.cos(2 * np.pi * turn) * t
            y = source[1] + height * (0.55 * speed * np.sin(2 * np.pi * turn) * t - 0.12 * t + 0.5 * t * t)
            ends.append((round(float(x)), round(float(y))))
        cv2.line(
            layer,
            ends[0],
            ends[1],
            float(np.clip(1.2 - age / 0.75 - 0.4 * last, 0, 1)),
            max(1, height // 360),
            cv2.LINE_AA,
        )
    layer *= strength
    glow = layer + 0.8 * cv2.GaussianBlur(layer, (0, 0), max(1.0, 0.006 * height))
    canvas += glow[..., None] * np.array([1.0, 0.72, 0.3], np.float32)
    return np.clip(glow * 2, 0, 1)
