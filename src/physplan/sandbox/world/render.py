"""From sprites to pictures: frames, instance masks and depth, at any resolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physplan.sandbox.world.paint import PAINTERS, Brush, Layer
from physplan.sandbox.world.sprites import Sprite, color_over_time, over_time

WORLD = 96.0  # the side of the picture in world units
FRAMES = 25
Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Backdrop:
    """A wall and a table seen a little from above."""

    horizon: float
    wall: tuple[float, float, float]
    table: tuple[float, float, float]
    pattern: str = "plain"  # of the wall: plain, stripes, tiles
    light: float = 1.0
    phase: float = 0.0


@dataclass(frozen=True)
class Clip:
    """frames uint8 [T, H, W, 3]; objects uint8 [T, H, W], indices into `names` (0 = wall, 1 = table); depth
    float32."""

    frames: NDArray[np.uint8]
    objects: NDArray[np.uint8]
    depth: Array
    names: tuple[str, ...]

    def mask(self, name: str, frame: int = 0) -> NDArray[np.bool_]:
        return self.objects[frame] == self.names.index(name)


def nearness(y: float | Array, horizon: float) -> float | Array:
    """How near a point of the table is whose picture height is y: 0.15 at the horizon, 0.9 at the lower
    edge."""
    return 0.15 + 0.75 * (y - horizon) / (WORLD - horizon)


def render(
    sprites: Sequence[Sprite],
    backdrop: Backdrop,
    *,
    frames: int = FRAMES,
    size: int = 96,
    table: str = "table",
) -> Clip:
    scale = size / WORLD
    grid = (np.arange(size, dtype=np.float32) + 0.5) / scale
    picture, depth = _backdrop(backdrop, grid)
    picture = np.repeat(picture[None], frames, axis=0)
    depth = np.repeat(depth[None], frames, axis=0)
    objects = np.zeros((frames, size, size), dtype=np.uint8)
    objects[:, grid > backdrop.horizon] = 1
    names = ["wall", table]
    for sprite in sorted(sprites, key=lambda s: (s.near, s.order)):
        if sprite.object not in names:
            names.append(sprite.object)
        _draw(sprite, names.index(sprite.object), picture, objects, depth, backdrop, grid, frames, scale)
    picture = np.clip(picture * backdrop.light, 0.0, 1.0)
    return Clip((picture * 255.0 + 0.5).astype(np.uint8), objects, depth, tuple(names))


def _backdrop(b: Backdrop, grid: Array) -> tuple[Array, Array]:
    x, y = grid[None, :], grid[:, None]
    wall = np.ones((grid.size, grid.size), dtype=np.float32) * (1.06 - 0.16 * y / b.horizon)
    if b.pattern == "stripes":
        wall = wall * (1.0 + 0.035 * np.sign(np.sin((x + b.phase) * 0.55)))
    elif b.pattern == "tiles":
        lines = np.minimum(np.abs((x + b.phase) % 14.0 - 7.0), np.abs((y + b.phase) % 14.0 - 7.0))
        wall = wall * (1.0 - 0.10 * np.clip(1.2 - lines, 0.0, 1.0))
    down = np.clip((y - b.horizon) / (WORLD - b.horizon), 0.0, 1.0)
    grain = 0.03 * np.sin(y * 1.1 + 2.5 * np.sin(x * 0.05 + b.phase) + b.phase)
    table = (0.90 + 0.16 * down) * (1.0 + grain) * np.ones_like(wall)
    edge = np.clip(1.4 - np.abs(y - b.horizon), 0.0, 1.0)
    table = table * (1.0 - 0.28 * edge)
    on_table = np.clip(y - b.horizon + 0.5, 0.0, 1.0)[..., None]
    color = (
        wall[..., None] * np.array(b.wall) * (1 - on_table) + table[..., None] * np.array(b.table) * on_table
    )
    depth = np.where(y > b.horizon, nearness(y, b.horizon), 0.05) * np.ones_like(wall)
    return color.astype(np.float32), depth.astype(np.float32)


def _draw(
    sprite: Sprite,
    index: int,
    picture: Array,
    objects: NDArray[np.uint8],
    depth: Array,
    backdrop: Backdrop,
    grid: Array,
    frames: int,
    scale: float,
) -> None:
    x, y, w, h = (over_time(v, frames) for v in (sprite.x, sprite.y, sprite.w, sprite.h))
    angle, alpha, level = (over_time(v, frames) for v in (sprite.angle, sprite.alpha, sprite.level))
    reach = 0.5 * np.hypot(w, h) + 6.0
    cols = np.flatnonzero((grid > (x - reach).min()) & (grid < (x + reach).max()))
    rows = np.flatnonzero((grid > (y - reach).min()) & (grid < (y + reach).max()))
    if not cols.size or not rows.size or not (alpha > 0).any():
        return
    area = (slice(None), slice(rows[0], rows[-1] + 1), slice(cols[0], cols[-1] + 1))
    du = grid[None, None, area[2]] - x
    dv = grid[None, area[1], None] - y
    if np.any(angle):
        c, s = np.cos(angle), np.sin(angle)
        du, dv = c * du + s * dv, -s * du + c * dv
    else:
        du, dv = du + 0 * dv, dv + 0 * du
    color = color_over_time(sprite.color, frames)
    if sprite.grounded:
        _contact_shadow(sprite, picture, backdrop, grid, x, y, w, h, angle, alpha)
    brush = Brush(du, dv, 0.5 * w, 0.5 * h, color, level, sprite.look)
    seen: Array | None = None
    for layer in PAINTERS[sprite.kind](brush):
        cover = _coverage(layer, scale) * alpha
        picture[area] = picture[area] * (1 - cover[..., None]) + layer.color * cover[..., None]
        if layer.solid:
            seen = cover if seen is None else np.maximum(seen, cover)
    if seen is not None:
        visible = np.broadcast_to(seen > 0.30, objects[area].shape)
        objects[area][visible] = index
        depth[area][visible] = sprite.near


def _coverage(layer: Layer, scale: float) -> Array:
    blur = max(layer.soft, 1.0 / scale)
    return np.clip(0.5 - layer.distance / blur, 0.0, 1.0) * layer.alpha


def _contact_shadow(
    sprite: Sprite,
    picture: Array,
    backdrop: Backdrop,
    grid: Array,
    x: Array,
    y: Array,
    w: Array,
    h: Array,
    angle: Array,
    alpha: Array,
) -> None:
    """Darkens the table below an object; fainter and wider the higher the object is above its resting
    place."""
    ground = sprite.foot or backdrop.horizon + (sprite.near - 0.15) / 0.75 * (WORLD - backdrop.horizon)
    half_w = 0.5 * (np.abs(w * np.cos(angle)) + np.abs(h * np.sin(angle)))
    half_h = 0.5 * (np.abs(h * np.cos(angle)) + np.abs(w * np.sin(angle)))
    lift = np.maximum(ground - (y + half_h), 0.0)
    a, b = half_w * 1.05 + 0.06 * lift + 1.0, 2.2 + 0.02 * lift
    rows = slice(*np.searchsorted(grid, [ground - 6.0, ground + 7.0]))
    cols = slice(*np.searchsorted(grid, [float((x - 1.6 * a).min()), float((x + 1.6 * a).max())]))
    u = (grid[None, None, cols] - x) / a
    v = (grid[None, rows, None] - ground - 0.3) / b
    dark = 0.34 * alpha * np.exp(-1.2 * (u**4 + v * v)) / (1.0 + 0.06 * lift)
    dark = dark * (grid[None, rows, None] > backdrop.horizon)
    picture[:, rows, cols] *= 1.0 - dark[..., None]
