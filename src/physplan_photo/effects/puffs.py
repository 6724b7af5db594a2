"""Smoke and dust: soft puffs that are given off, rise, grow and thin out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import cv2
import numpy as np

from physplan_photo.effects.noise import Array, clouds

Where = Callable[[float], tuple[float, float, float]]  # of a time in seconds: x, y, half width in pixels
TEXTURE_COUNT = 8
TEXTURE_SIDE = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Puffs:
    """Speeds and sizes are in heights of the frame (and seconds)."""

    colour: tuple[float, float, float]
    opacity: float
    rate: float = 22.0  # puffs a second
    life: float = 2.4
    rise: float = 0.16
    wind: float = 0.03
    spread: float = 0.05  # random speed
    start: float = 0.03  # radius when given off
    grow: float = 0.06  # of the radius a second
    shade: float = 0.25  # how much darker its lower side is
    burst: bool = False  # all at the beginning, from the whole source to all sides
    scraps: int = 0  # pieces that fly off and fall
    scrap: tuple[float, float, float] | None = None  # their colour
    drag: float = 0.8


SMOKE = Puffs(colour=(0.5, 0.49, 0.48), opacity=0.5, rate=30, start=0.036, rise=0.2)
DUST = Puffs(
    colour=(0.72, 0.65, 0.55),
    opacity=0.3,
    rate=60,
    burst=True,
    scraps=26,
    rise=0.03,
    spread=0.34,
    life=1.4,
    start=0.025,
    grow=0.08,
)
EXHAUST = Puffs(
    colour=(0.88, 0.86, 0.84),
    opacity=0.42,
    rate=40,
    rise=-0.1,
    spread=0.13,
    start=0.03,
    grow=0.07,
    life=2.6,
    wind=0.01,
)


def tinted(kind: Puffs, colour: tuple[float, float, float] | None) -> Puffs:
    """Puffs half in a source's colour, and pieces in it."""
    if colour is None:
        return kind
    red, green, blue = (0.5 * (own + given) for own, given in zip(kind.colour, colour, strict=True))
    return replace(kind, colour=(red, green, blue), scrap=colour)


@lru_cache(maxsize=8)
def _textures(seed: int) -> tuple[Array, ...]:
    ys, xs = np.mgrid[-1 : 1 : TEXTURE_SIDE * 1j, -1 : 1 : TEXTURE_SIDE * 1j].astype(np.float32)
    away = np.hypot(xs, ys)
    made = []
    for k in range(TEXTURE_COUNT):
        noise = np.roll(clouds(seed + 7, 1.7), (37 * k, 91 * k), (0, 1))[:TEXTURE_SIDE, :TEXTURE_SIDE]
        body = np.clip(1.15 - away - 0.75 * (noise - 0.35), 0, 1)
        edge = np.clip((1 - away) * 3, 0, 1)
        made.append((body * body * (3 - 2 * body) * edge).astype(np.float32))
    return tuple(made)


def draw_puffs(
    canvas: Array, kind: Puffs, where: Where, now: float, stops: float, seed: int, strength: float
) -> Array:
    """Everything given off from 0 until `now` (at most until `stops`) that is still there; its opacity."""
    height, width = canvas.shape[:2]
    covered = np.zeros((height, width), np.float32)
    if now <= 0 or strength <= 0:
        return covered
    random = np.random.default_rng(seed)
    count = int(kind.rate * (kind.life + 8)) if not kind.burst else int(kind.rate)
    textures = _textures(seed % 1000)
    for k in range(count):
        u = random.random(6)
        born = u[0] * 0.08 if kind.burst else (k + u[0]) / kind.rate
        age = now - born
        if born > min(now, stops) or not 0 < age < kind.life:
            continue
        x, y, half = where(born)
        turn = 2 * np.pi * u[1]
        if kind.burst:
            x, y, half = x + half * np.cos(turn) * u[3], y + half * np.sin(turn) * u[3], 0.0
        glide = (1 - np.exp(-kind.drag * age)) / kind.drag
        speed = kind.spread * (0.3 + u[2])
        x += half * (2 * u[3] - 1) + height * (speed * np.cos(turn) * glide + kind.wind * age * (0.5 + u[4]))
        y += height * (
            speed * np.sin(turn) * glide * (1.0 if kind.burst else 0.4) - kind.rise * age * (0.7 + 0.6 * u[5])
        )
        radius = height * (kind.start * (0.7 + 0.6 * u[4]) + kind.grow * age)
        fade = min(1.0, 5 * age) * (1 - age / kind.life) ** 1.3
        _puff(
            canvas, covered, textures[k % TEXTURE_COUNT], (x, y, radius), kind, kind.opacity * fade * strength
        )
    if kind.scraps:
        _scraps(canvas, covered, kind, where(0.0), now, random)
    return covered


def _scraps(
    canvas: Array,
    covered: Array,
    kind: Puffs,
    at: tuple[float, float, float],
    now: float,
    random: np.random.Generator,
) -> None:
    """Small pieces of what burst: they fly to all sides, turn, and fall out of the picture."""
    height, layer = len(canvas), np.zeros_like(covered)
    for u in random.random((kind.scraps, 6)):
        turn, far, speed = 2 * np.pi * u[0], at[2] * np.sqrt(u[1]), height * (0.25 + 0.55 * u[2])
        x = at[0] + far * np.cos(turn) + speed * np.cos(turn) * now
        y = at[1] + far * np.sin(turn) + speed * np.sin(turn) * now + 0.9 * height * now**2
        size = max(1.5, at[2] * (0.1 + 0.14 * u[3]))
        spin = 360 * (u[4] + (2 * u[5] - 1) * 2 * now)
        corners = [spin + 140 * k + 40 * u[k] for k in range(3)]
        shape = [(x + size * np.cos(np.radians(c)), y + 0.8 * size * np.sin(np.radians(c))) for c in corners]
        cv2.fillPoly(layer, [np.round(np.array(shape) * 16).astype(np.int32)], 1.0, cv2.LINE_AA, 4)
    canvas += (np.asarray(kind.scrap or kind.colour, np.float32) - canvas) * layer[..., None]
    np.maximum(covered, layer, out=covered)


def _puff(
    canvas: Array, covered: Array, texture: Array, at: tuple[float, float, float], kind: Puffs, opacity: float
) -> None:
    x, y, radius = at
    height, width = canvas.shape[:2]
    left, top, side = int(x - radius), int(y - radius), max(3, int(2 * radius))
    x0, y0, x1, y1 = max(0, left), max(0, top), min(width, left + side), min(height, top + side)
    if x0 >= x1 or y0 >= y1 or opacity < 0.004:
        return
    alpha = cv2.resize(texture, (side, side), interpolation=cv2.INTER_LINEAR)
    alpha = alpha[y0 - top : y1 - top, x0 - left : x1 - left] * opacity
    down = (np.arange(y0 - top, y1 - top, dtype=np.float32) / side)[:, None, None]
    colour = np.asarray(kind.colour, np.float32) * (1 + kind.shade * (0.4 - down))
    under = canvas[y0:y1, x0:x1]
    under += (colour - under) * alpha[..., None]
    seen = covered[y0:y1, x0:x1]
    seen += (1 - seen) * alpha
