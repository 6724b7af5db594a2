"""New things, drawn with the world's painters where their sources are, in the editor's own shades."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physplan_sandbox.editor.frame_geometry import Box, FrameGeometry
from physplan_sandbox.editor.placing import FILL_LEVELS
from physplan_sandbox.world.paint import PAINTERS, Brush
from physplan_sandbox.world.sprites import PALETTE

Array = NDArray[np.float32]
Mask = NDArray[np.bool_]

GLASS, GLASS_SHARE = (0.78, 0.90, 0.95), 0.35  # the tint of clear glass, and how strong it is
PILLAR_HEIGHT = 2.5  # how far, in world units, a balance's pillar stands out above its beam
WATER = (0.45, 0.69, 0.86)  # not quite the world's
#: Half the width of a puddle on the table, in world units, and its share of a dish.
PUDDLES = {
    "small": (6.0, 0.15),
    "medium": (13.0, 0.30),
    "wide": (18.0, 0.40),
    "spread over most of the tray": (18.0, 0.41),
}
WIDE = (18.0, 0.40)
#: What has run out of a vessel: how far it reaches to the side with more room, as a share of the way to the
#: picture's edge, and how deep it is in world units.
FLOODS = {"around the glass": (0.29, 5.4), "far across the table": (0.94, 13.0)}


def paint(
    canvas: Array,
    kind: str,
    box: Box,
    *,
    unit: float,
    color: tuple[float, float, float] = WATER,
    level: float = 0.0,
    look: Mapping[str, Any] | None = None,
) -> Array:
    """The canvas with one thing painted over it, filling `box` (pixels)."""
    grid_y, grid_x = np.mgrid[0 : canvas.shape[0], 0 : canvas.shape[1]].astype(np.float32) + 0.5
    u, v = (grid_x - box.x)[None] / unit, (grid_y - box.y)[None] / unit
    half = (
        np.full((1, 1, 1), 0.5 * box.width / unit, np.float32),
        np.full((1, 1, 1), 0.5 * box.height / unit, np.float32),
    )
    tone = np.asarray(color, np.float32).reshape(1, 1, 1, 3)
    brush = Brush(u, v, *half, tone, np.full((1, 1, 1), level, np.float32), dict(look or {}))
    for layer in PAINTERS[kind](brush):
        softness = max(layer.soft, 1.3 / unit)  # a softer brush than the world's
        cover = (np.clip(0.5 - layer.distance / softness, 0, 1) * layer.alpha)[0][..., None]
        canvas = canvas * (1 - cover) + np.broadcast_to(layer.color, (1, *canvas.shape))[0] * cover
    return canvas


def around(x: float, y: float, width: float, height: float) -> Box:
    return Box(left=x - width / 2, top=y - height / 2, right=x + width / 2, bottom=y + height / 2)


def inside(vessel: Box, unit: float) -> Box:
    """The room in a vessel, within its walls."""
    return Box(
        left=vessel.left + 1.4 * unit,
        top=vessel.top + 2.2 * unit,
        right=vessel.right - 1.4 * unit,
        bottom=vessel.bottom - 1.4 * unit,
    )


def water_in(canvas: Array, vessel: Box, extent: str, unit: float) -> Array:
    room = inside(vessel, unit)
    level = FILL_LEVELS.get(extent, 0.6) * vessel.height / room.height
    return paint(canvas, "water", room, unit=unit, level=level)


def stream(canvas: Array, tap: Box, spout: float, floor: float, unit: float) -> Array:
    box = Box(left=spout - 2.2 * unit, top=tap.bottom - unit, right=spout + 2.2 * unit, bottom=floor)
    return paint(canvas, "stream", box, unit=unit)


def puddle(
    canvas: Array, geometry: FrameGeometry, place: Box | None, x: float, row: float, extent: str
) -> Array:
    """On a dish `place`, or on the table around (x, row)."""
    on_table, of_dish = PUDDLES.get(extent, WIDE)
    unit = geometry.unit
    if place is None:
        box = around(x, row + 2 * unit, 2 * on_table * unit, 0.44 * on_table * unit)
    else:
        box = around(place.x, place.top + 0.22 * place.height, 2 * of_dish * place.width, 0.42 * place.height)
    return paint(canvas, "puddle", box, unit=unit)


def flood(canvas: Array, geometry: FrameGeometry, vessel: Box, row: float, extent: str) -> Array:
    """Around the foot of a vessel that has run over, and farther where there is more table."""
    share, deep = FLOODS[extent]
    unit = geometry.unit
    back = 0.5 * vessel.width + (2.0 + 3.0 * share) * unit
    if vessel.x < 0.5 * geometry.width:
        left, right = vessel.x - back, vessel.x + share * (geometry.width - vessel.x)
    else:
        left, right = vessel.x - share * vessel.x, vessel.x + back
    box = around(0.5 * (left + right), row + 2.5 * unit, right - left, deep * unit)
    return paint(canvas, "puddle", box, unit=unit)


def spill(canvas: Array, vessel: Box, unit: float) -> Array:
    """Down both sides of a vessel that is running over."""
    box = Box(vessel.left - 0.8 * unit, vessel.top, vessel.right + 0.8 * unit, vessel.bottom)
    return paint(canvas, "spill", box, unit=unit)


def level_balance(canvas: Array, image: Array, mask: Mask, x: float, unit: float) -> Array:
    """A balance whose beam has come level, in the colour that it had."""
    box = Box.of(mask)
    top = float(np.argmax(mask[:, int(x)]))
    half = max(box.right - x, x - box.left)
    whole = Box(left=x - half, top=top, right=x + half, bottom=box.bottom)
    red, green, blue = (float(value) for value in np.median(image[mask], axis=0))
    look = {"beam": PILLAR_HEIGHT}
    return paint(canvas, "balance", whole, unit=unit, color=(red, green, blue), look=look)


def through_glass(picture: Array) -> Array:
    """The background as seen through an empty glass."""
    return (1 - GLASS_SHARE) * picture + GLASS_SHARE * np.array(GLASS, np.float32)


def blot(canvas: Array, paper: Box, color: str, unit: float) -> Array:
    tone = PALETTE.get(color, PALETTE["dark"])
    return paint(
        canvas,
        "blot",
        around(paper.x, paper.y, 0.47 * paper.width, 0.60 * paper.height),
        unit=unit,
        color=tone,
    )


def beam(canvas: Array, lamp: Box, to_right: bool, unit: float) -> Array:
    """A cone of light from the lamp's head down to the line on which it stands."""
    side = 1 if to_right else -1
    start = lamp.x + side * 8 * unit
    top = lamp.bottom - 0.80 * lamp.height
    box = around(start + side * 17 * unit, 0.5 * (top + lamp.bottom), 34 * unit, lamp.bottom - top)
    return paint(canvas, "beam", box, unit=unit, level=1.0, look={"facing": float(side)})


def smoke(canvas: Array, flame: Box, unit: float) -> Array:
    box = Box(
        left=flame.x - 5.5 * unit,
        top=flame.bottom - 15 * unit,
        right=flame.x + 5.5 * unit,
        bottom=flame.bottom,
    )
    return paint(canvas, "smoke", box, unit=unit)
