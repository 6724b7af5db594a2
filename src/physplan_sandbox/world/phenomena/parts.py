"""Parts that several phenomena show: the sun, a tap, a glass and the water in it, a puddle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from physplan_sandbox.world.physics import Body
from physplan_sandbox.world.scene import Layout, Take, sprite
from physplan_sandbox.world.sprites import Array, Sprite, Value

WATER = (0.42, 0.68, 0.88)


def shown(when: Array) -> Array:
    """The opacity of a thing that is there in the frames where `when` holds."""
    return when.astype(np.float32)


def sun(layout: Layout, *, x: Value, y: Value) -> Sprite:
    return sprite("sun", layout, x=x, y=y, w=13, h=13, near=0.06, grounded=False)


def tap(layout: Layout) -> Sprite:
    """Its spout ends at (`tap`, `spout`) of the layout."""
    x, y = layout["tap"] - 3.2, layout["spout"] - 6.0
    return sprite("tap", layout, x=x, y=y, w=13, h=12, order=3, grounded=False)


def stream(layout: Layout, take: Take, floor: float, *, w: float, reach: float, closed: float) -> Sprite:
    """It runs from the spout down to `floor`, which its head reaches at beat `reach`; its tail follows from
    beat `closed` on."""
    spout = layout["spout"]
    head = spout + (floor - spout) * take.ramp(1, reach)
    tail = spout + (floor - spout) * take.ramp(closed, 20)
    x, y, h = layout["tap"] + 0.4, (head + tail) / 2, np.maximum(head - tail, 0.01)
    alpha = shown(head - tail > 0.8)
    return sprite("stream", layout, x=x, y=y, w=w, h=h, alpha=alpha, color=WATER, order=1, grounded=False)


def puddle(layout: Layout, **values: Any) -> Sprite:
    return sprite("puddle", layout, color=WATER, grounded=False, **values)


def crate_walls(layout: Layout, *, x: float, w: float, h: float) -> list[Body]:
    """An open crate on the main line, for the engine."""
    ground = layout.ground
    return [
        Body(x=x - w / 2 + 1.2, y=ground - h / 2, w=2.4, h=h),
        Body(x=x + w / 2 - 1.2, y=ground - h / 2, w=2.4, h=h),
        Body(x=x, y=ground - 1.2, w=w, h=2.4),
    ]


@dataclass(frozen=True, kw_only=True)
class Glass:
    """A glass on the main line, and the room in it for water, less `headroom`."""

    layout: Layout
    x: float
    w: float
    h: float
    category: str = "glass"
    headroom: float = 3.5
    look: Mapping[str, float] = field(default_factory=dict)

    @property
    def floor(self) -> float:
        return self.layout.ground - 1.3

    @property
    def depth(self) -> float:
        return self.h - self.headroom

    def surface(self, level: Value) -> Value:
        """The picture height of the water that fills this share of the glass."""
        return self.floor - self.depth * level

    def sprite(self) -> Sprite:
        look = dict(self.look)
        return sprite(self.category, self.layout, x=self.x, w=self.w, h=self.h, color=WATER, look=look)

    def water(self, level: Value, *, color: Value = WATER, **values: Any) -> Sprite:
        return sprite(
            "water",
            self.layout,
            x=self.x,
            base=self.floor,
            w=self.w - 2.6,
            h=self.depth,
            level=level,
            color=color,
            grounded=False,
            **values,
        )
