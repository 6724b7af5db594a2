"""From sprites to pictures: frames, instance masks and depth, at any resolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physplan_sandbox.world import paint_machines, paint_stories  # noqa: F401  they register painters
from physplan_sandbox.world.paint import PAINTERS, Brush, Layer
from physplan_sandbox.world.sprites import TIMED, Sprite, color_over_time, over_time

WORLD_SIZE = 96.0  # the side of the picture in world units
FRAMES = 33
BEATS_PER_FRAME = 0.75  # what happens is timed in beats; a frame lasts this many, and a clip 24
FRAME_BEATS = BEATS_PER_FRAME * np.arange(FRAMES, dtype=np.float32)  # when each frame is
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
    return 0.15 + 0.75 * (y - horizon) / (WORLD_SIZE - horizon)


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """What sprites are drawn on, the farthest first; its arrays are changed in place."""

    backdrop: Backdrop
    picture: Array  # [T, H, W, 3]
    depth: Array  # [T, H, W]
    objects: NDArray[np.uint8]  # [T, H, W]
    grid: Array  # the pixels' centres in world units, the same for rows and columns

    @classmethod
    def empty(cls, backdrop: Backdrop, frames: int, size: int) -> Canvas:
        grid = (np.arange(size, dtype=np.float32) + 0.5) / (size / WORLD_SIZE)
        picture, depth = _backdrop(backdrop, grid)
        objects = np.zeros((frames, size, size), dtype=np.uint8)
        objects[:, grid > backdrop.horizon] = 1
        return cls(
            backdrop=backdrop,
            picture=np.repeat(picture[None], frames, axis=0),
            depth=np.repeat(depth[None], frames, axis=0),
            objects=objects,
            grid=grid,
        )


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A sprite's numbers for every frame, each [T, 1, 1], or [1, 1, 1] for what does not change."""

    x: Array
    y: Array
    w: Array
    h: Array
    angle: Array
    alpha: Array
    level: Array


def render(
    sprites: Sequence[Sprite],
    backdrop: Backdrop,
    *,
    frames: int = FRAMES,
    size: int = 96,
    table: str = "table",
) -> Clip:
    canvas = Canvas.empty(backdrop, frames, size)
    names = ["wall", table]
    for sprite in sorted(sprites, key=lambda s: (s.near, s.order)):
        if sprite.object not in names:
            names.append(sprite.object)
        draw_sprite(sprite, names.index(sprite.object), canvas)
    picture = np.clip(canvas.picture * backdrop.light, 0.0, 1.0)
    return Clip((picture * 255.0 + 0.5).astype(np.uint8), canvas.objects, canvas.depth, tuple(names))


def _backdrop(b: Backdrop, grid: Array) -> tuple[Array, Array]:
    x, y = grid[None, :], grid[:, None]
    wall = np.ones((grid.size, grid.size), dtype=np.float32) * (1.06 - 0.16 * y / b.horizon)
    if b.pattern == "stripes":
        wall = wall * (1.0 + 0.035 * np.sign(np.sin((x + b.phase) * 0.55)))
    elif b.pattern == "tiles":
        lines = np.minimum(np.abs((x + b.phase) % 14.0 - 7.0), np.abs((y + b.phase) % 14.0 - 7.0))
        wall = wall * (1.0 - 0.10 * np.clip(1.2 - lines, 0.0, 1.0))
    down = np.clip((y - b.horizon) / (WORLD_SIZE - b.horizon), 0.0, 1.0)
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


def draw_sprite(sprite: Sprite, index: int, canvas: Canvas, *, shadow: bool = True) -> None:
    frames = len(canvas.picture)
    placed = Placed(**{name: over_time(getattr(sprite, name), frames) for name in TIMED})
    area = _area(placed, canvas.grid)
    if area is None or not (placed.alpha > 0).any():
        return
    if sprite.grounded and shadow:
        _contact_shadow(sprite, placed, canvas)
    u, v = _local(placed, canvas.grid, area)
    color = color_over_time(sprite.color, frames)
    brush = Brush(u, v, 0.5 * placed.w, 0.5 * placed.h, color, placed.level, sprite.look)
    picture, scale = canvas.picture[area], canvas.grid.size / WORLD_SIZE
    seen: Array | None = None
    for layer in PAINTERS[sprite.kind](brush):
        cover = _coverage(layer, scale) * placed.alpha
        picture[:] = picture * (1 - cover[..., None]) + layer.color * cover[..., None]
        if layer.solid:
            seen = cover if seen is None else np.maximum(seen, cover)
    if seen is not None:
        visible = np.broadcast_to(seen > 0.30, canvas.objects[area].shape)
        canvas.objects[area][visible] = index
        canvas.depth[area][visible] = sprite.near


def _area(placed: Placed, grid: Array) -> tuple[slice, slice, slice] | None:
    """The part of the picture that the sprite may touch in some frame; None when it is all outside."""
    reach = 0.5 * np.hypot(placed.w, placed.h) + 6.0
    rows, cols = (
        np.flatnonzero((grid > (centre - reach).min()) & (grid < (centre + reach).max()))
        for centre in (placed.y, placed.x)
    )
    if not cols.size or not rows.size:
        return None
    return slice(None), slice(rows[0], rows[-1] + 1), slice(cols[0], cols[-1] + 1)


def _local(placed: Placed, grid: Array, area: tuple[slice, slice, slice]) -> tuple[Array, Array]:
    """The pixels of the area as seen from the sprite: [T, h, w] to its right and below its centre."""
    u = grid[None, None, area[2]] - placed.x
    v = grid[None, area[1], None] - placed.y
    if np.any(placed.angle):
        c, s = np.cos(placed.angle), np.sin(placed.angle)
        return c * u + s * v, -s * u + c * v
    return u + 0 * v, v + 0 * u


def _coverage(layer: Layer, scale: float) -> Array:
    blur = max(layer.soft, 1.0 / scale)
    return np.clip(0.5 - layer.distance / blur, 0.0, 1.0) * layer.alpha


def _contact_shadow(sprite: Sprite, placed: Placed, canvas: Canvas) -> None:
    """Darkens the table below an object; fainter and wider the higher the object is above its resting
    place."""
    backdrop, grid, angle = canvas.backdrop, canvas.grid, placed.angle
    ground = sprite.foot or backdrop.horizon + (sprite.near - 0.15) / 0.75 * (WORLD_SIZE - backdrop.horizon)
    half_w = 0.5 * (np.abs(placed.w * np.cos(angle)) + np.abs(placed.h * np.sin(angle)))
    half_h = 0.5 * (np.abs(placed.h * np.cos(angle)) + np.abs(placed.w * np.sin(angle)))
    lift = np.maximum(ground - (placed.y + half_h), 0.0)
    a, b = half_w * 1.05 + 0.06 * lift + 1.0, 2.2 + 0.02 * lift
    rows = slice(*np.searchsorted(grid, [ground - 6.0, ground + 7.0]))
    left, right = float((placed.x - 1.6 * a).min()), float((placed.x + 1.6 * a).max())
    cols = slice(*np.searchsorted(grid, [left, right]))
    u = (grid[None, None, cols] - placed.x) / a
    v = (grid[None, rows, None] - ground - 0.3) / b
    dark = 0.34 * placed.alpha * np.exp(-1.2 * (u**4 + v * v)) / (1.0 + 0.06 * lift)
    dark = dark * (grid[None, rows, None] > backdrop.horizon)
    canvas.picture[:, rows, cols] *= 1.0 - dark[..., None]
