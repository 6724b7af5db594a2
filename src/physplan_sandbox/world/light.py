"""Light that no cutout carries: cast shadows, reflections on a glossy table, light of lamps and flames.

Drawn over a rendered clip from the silhouettes of its sprites. `LitClip.without` has the clip less one
effect: the truth that `physplan evaluate light` compares videos with.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physplan_sandbox.world.render import FRAMES, WORLD_SIZE, Backdrop, Canvas, draw_sprite, render
from physplan_sandbox.world.sprites import TIMED, Sprite, over_time

Array = NDArray[Any]
EFFECTS = ("shadow", "reflection", "light")
SHADOW_RISE = 0.30  # how far up the picture a shadow falls, per unit of height
MIRROR_LENGTH = 0.75  # length of a mirror image over the object's
MIRROR_FADE = 14.0  # world units after which a mirror image is a third as strong
LIGHT_REACH = 22.0  # of a lamp's light, a standard deviation in world units
WARM = np.array([1.0, 0.86, 0.55], dtype=np.float32)
TABLE_INDEX = 1  # its index in a clip's `objects`


@dataclass(frozen=True, kw_only=True)
class Lighting:
    slant: float  # how far to the right a shadow falls, per unit of height
    shade: float  # share of the light that a shadow takes
    gloss: float  # share of a mirror image at the foot of a thing
    glow: float  # what a lamp or flame adds where it stands, as a share of the picture

    @classmethod
    def sample(cls, rng: np.random.Generator) -> Lighting:
        return cls(
            slant=float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 0.9)),
            shade=float(rng.uniform(0.35, 0.50)),
            gloss=float(rng.uniform(0.30, 0.50)),
            glow=float(rng.uniform(0.25, 0.45)),
        )


def lighting_of(scene: str) -> Lighting:
    """The light of the lit version of the scene with this name."""
    return Lighting.sample(np.random.default_rng([zlib.crc32(scene.encode()), 9]))


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A sprite alone: silhouette bool [T, H, W], colours [T, H, W, 3]; T is 1 where nothing changes."""

    sprite: Sprite
    mask: NDArray[np.bool_]
    colors: Array


@dataclass(frozen=True, kw_only=True)
class LitClip:
    """A clip's frames with all effects, and without each of them: float32 [T, H, W, 3] in [0, 1]."""

    frames: Array
    plain: Array  # without any
    without: dict[str, Array]
    objects: NDArray[np.uint8]  # [T, H, W]
    names: tuple[str, ...]


def render_lit(
    sprites: Sequence[Sprite],
    backdrop: Backdrop,
    lighting: Lighting,
    *,
    size: int = 96,
    frames: int = FRAMES,
    compared: bool = True,
) -> LitClip:
    """`compared`: with the renderings that lack one effect each."""
    clip = render(sprites, backdrop, size=size, frames=frames)
    plain = clip.frames.astype(np.float32) / 255
    figures = [figure(one, backdrop, size=size, frames=frames) for one in sprites if casts(one) or glows(one)]
    drawn = [
        light_up(plain, clip.objects, figures, backdrop, lighting, without=left_out)
        for left_out in ((), *((effect,) for effect in EFFECTS if compared))
    ]
    return LitClip(
        frames=drawn[0],
        plain=plain,
        without=dict(zip(EFFECTS, drawn[1:], strict=False)),
        objects=clip.objects,
        names=clip.names,
    )


def light_up(
    plain: Array,
    objects: NDArray[np.uint8],
    figures: Sequence[Figure],
    backdrop: Backdrop,
    lighting: Lighting,
    *,
    without: Collection[str] = (),
) -> Array:
    """Frames [T, H, W, 3] under `lighting`, less the effects named in `without`."""
    picture, on_table = plain.copy(), objects == TABLE_INDEX
    casting = [one for one in figures if casts(one.sprite)]
    if "light" not in without:
        for one in figures:
            if glows(one.sprite):
                picture *= 1 + lighting.glow * lamp_light(one)[..., None] * WARM
    if "reflection" not in without:
        for one in casting:
            share, colors = mirror_image(one, backdrop)
            share = (lighting.gloss * share * on_table)[..., None]
            picture += share * (colors * backdrop.light - picture)
    if "shadow" not in without and casting:
        dark = np.zeros(objects.shape, dtype=np.float32)
        for one in casting:
            np.maximum(dark, cast_shadow(one, backdrop, lighting.slant), out=dark)
        picture *= 1 - (lighting.shade * dark * on_table)[..., None]
    return np.clip(picture, 0, 1)


def casts(sprite: Sprite) -> bool:
    """Whether it throws a shadow and is mirrored: what stands, hangs or flies over the table."""
    return sprite.grounded


def glows(sprite: Sprite) -> bool:
    return sprite.kind in ("lamp", "flame")


def figure(sprite: Sprite, backdrop: Backdrop, *, size: int, frames: int) -> Figure:
    """Of one frame where nothing about the sprite changes."""
    changes = np.ndim(sprite.color) > 1 or any(np.ndim(getattr(sprite, name)) for name in TIMED)
    frames = frames if changes else 1
    canvas = Canvas.empty(backdrop, frames, size)
    canvas.picture[:] = 0
    canvas.objects[:] = 0
    draw_sprite(sprite, 2, canvas, shadow=False)
    mask = canvas.objects == 2
    return Figure(sprite=sprite, mask=mask, colors=canvas.picture * mask[..., None])


def foot_line(sprite: Sprite, backdrop: Backdrop) -> float:
    """The picture height of the table below a thing."""
    return sprite.foot or backdrop.horizon + (sprite.near - 0.15) / 0.75 * (WORLD_SIZE - backdrop.horizon)


def cast_shadow(one: Figure, backdrop: Backdrop, slant: float) -> Array:
    """[T, H, W] in [0, 1]: the silhouette laid on the table, away from the light."""
    grid = _grid(one)
    foot = foot_line(one.sprite, backdrop)
    height = (foot - grid) / SHADOW_RISE  # of the point whose shadow falls on a row
    found = _sampled(one.mask.astype(np.float32), rows=foot - height,
                     shift=slant * height, valid=height >= 0)  # fmt: skip
    return _soft(found)


def mirror_image(one: Figure, backdrop: Backdrop) -> tuple[Array, Array]:
    """Its share [T, H, W], 1 at the foot and fading, and its colours [T, H, W, 3]."""
    foot = foot_line(one.sprite, backdrop)
    height = (_grid(one) - foot) / MIRROR_LENGTH
    where = {"rows": foot - height, "shift": np.zeros_like(height), "valid": height >= 0}
    share = _sampled(one.mask.astype(np.float32), **where) * np.exp(-height / MIRROR_FADE)[None, :, None]
    return share, _sampled(one.colors, **where)


def lamp_light(one: Figure) -> Array:
    """[T, H, W]: light around a lamp or flame, on everything but itself."""
    frames, size = len(one.mask), one.mask.shape[-1]
    sprite, grid = one.sprite, _grid(one)
    on = over_time(sprite.alpha, frames) * (over_time(sprite.level, frames) if sprite.kind == "lamp" else 1.0)
    x = over_time(sprite.x, frames)
    y = over_time(sprite.y, frames) - 0.25 * over_time(sprite.h, frames)
    far = (grid[None, None, :] - x) ** 2 + (grid[None, :, None] - y) ** 2
    found: Array = np.broadcast_to(on * np.exp(-far / (2 * LIGHT_REACH**2)), (frames, size, size)) * ~one.mask
    return found


def _grid(one: Figure) -> Array:
    size = one.mask.shape[-1]
    return (np.arange(size, dtype=np.float32) + 0.5) / (size / WORLD_SIZE)


def _sampled(maps: Array, *, rows: Array, shift: Array, valid: Array) -> Array:
    """maps [T, H, W, ...] at world row `rows[i]` and `shift[i]` to the left, for each picture row i."""
    size = maps.shape[1]
    scale = size / WORLD_SIZE
    row = np.floor(rows * scale).astype(int)
    column = np.arange(size)[None, :] - np.round(shift * scale).astype(int)[:, None]
    inside = valid[:, None] & ((row >= 0) & (row < size))[:, None] & (column >= 0) & (column < size)
    found = maps[:, np.clip(row, 0, size - 1)[:, None], np.clip(column, 0, size - 1)]
    return found * inside.reshape(1, size, size, *[1] * (maps.ndim - 3))


def _soft(mask: Array) -> Array:
    """A mean over 3 x 3 pixels."""
    padded = np.pad(mask, ((0, 0), (1, 1), (1, 1)), mode="edge")
    size = mask.shape[1]
    parts = [padded[:, i : i + size, j : j + size] for i in range(3) for j in range(3)]
    mean: Array = np.mean(parts, axis=0)
    return mean
