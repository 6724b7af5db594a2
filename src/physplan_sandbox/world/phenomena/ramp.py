"""Thermodynamics lets mechanics go: what holds a ball on a ramp melts, or does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from physplan_sandbox.world.phenomena.blocks import knock
from physplan_sandbox.world.phenomena.parts import puddle, shown, sun
from physplan_sandbox.world.physics import Body, Poses, simulate
from physplan_sandbox.world.render import FRAME_BEATS
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import Array, Sprite, Value, ramp

RELEASE_BEAT = 7.5  # the beat at which too little of the ice is left to hold the ball


class Ramp:
    """The sun shines: the ice that holds a ball on a ramp melts, the ball rolls down and tips a tall block or
    stops at a low one. A stone does not melt: the ball stays, whatever melts beside it."""

    name = "ramp"
    domain = "thermodynamics"
    prompts = ("the sun shines on the ramp", "the sun warms the ramp")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "tall": ("tips", "stops", "stays"),
        "low": ("stops", "tips", "stays"),
        "stone": ("stays", "tips", "stops"),
    }
    crowd = 4

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        low = variant == "low"
        return {
            "top": 3.0,
            "foot": rng.uniform(42, 44),
            "height": rng.uniform(23, 25),
            "r": rng.uniform(6.8, 7.4),
            "size": rng.uniform(12.5, 13.5),
            "ice": rng.uniform(52.5, 53.5),
            "block": {"tall": 60.0, "low": 68.0, "stone": 68.5}[variant] + rng.uniform(-1, 1),
            "w": rng.uniform(22, 24) if low else rng.uniform(8.5, 9.5),
            "h": rng.uniform(12.5, 14) if low else rng.uniform(25, 28),
            "sun": rng.uniform(84, 87),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        ball, block = rng.choice(["red", "orange", "teal", "blue", "pink", "yellow"], 2, replace=False)
        return {"ball": str(ball), "block": str(block), "ramp": pick(rng, "purple", "green", "brown")}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        extent = {"extent": "low" if variant == "low" else "tall"}
        things = {
            "ball": Thing(category="ball", color=layout.colors["ball"]),
            "ramp": Thing(category="ramp", color=layout.colors["ramp"]),
            "ice": Thing(category="ice", color="clear"),
            "block": Thing(category="block", color=layout.colors["block"], attributes=extent),
            "sun": Thing(category="sun", color="yellow"),
        }
        if variant == "stone":
            things["stone"] = Thing(category="stone", color="grey")
        return things

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        held = "stone" if variant == "stone" else "ice"
        found = [("ramp", "support", "ball"), ("ramp", "support", held)]
        found += [("table", "support", "ramp"), ("table", "support", "block")]
        return (*found, *([("table", "support", "ice")] if variant == "stone" else []))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        half = layout["w"] / 2
        return [(0, layout["foot"] - 4), (layout["block"] - half, layout["block"] + half)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        melt = take.ramp(1, 9)
        slope = _Slope(layout)
        ball, block = self._poses(outcome, layout, take)
        spot = layout["ice"] if variant == "stone" else layout["foot"] + 4.0
        sprites = [
            sun(layout, x=layout["sun"], y=13),
            self._ramp(layout),
            self._ice(variant, layout, slope, melt),
            self._ball(layout, ball),
            self._block(layout, block),
            puddle(
                layout,
                x=spot,
                y=layout.ground + 2.0,
                w=(22 + take.nudge) * np.sqrt(melt),
                h=7.0 * np.sqrt(melt),
                alpha=shown(melt > 0.02),
                order=-1,
            ),
        ]
        return [*sprites, self._stone(layout, slope)] if variant == "stone" else sprites

    def _poses(self, outcome: str, layout: Layout, take: Take) -> tuple[Poses, Poses]:
        """The ball and the block by the engine, from the moment that nothing holds the ball."""
        slope, r, w, h = _Slope(layout), layout["r"], layout["w"], layout["h"]
        x, y = slope.point(slope.ball, r)
        still = Poses(layout["block"], layout.ground - h / 2, 0.0)
        if outcome == "stays":
            return Poses(x, y, 0.0), still
        ball = Body(x=x, y=y, w=2 * r, h=2 * r, ball=True, friction=0.0, bounce=0.0)
        block = Body(x=layout["block"], y=layout.ground - h / 2, w=w, h=h)
        fixed = [slope.plank(), block]
        pose = simulate(
            [ball], ground=layout.ground, fixed=fixed, start=RELEASE_BEAT * take.pace, pace=0.82 * take.pace
        )[0]
        rolled = np.maximum.accumulate(pose.x)  # what it meets, it stays at
        down = Poses(rolled, pose.y, (rolled - x) / r)
        arrived = float(FRAME_BEATS[np.argmax(rolled >= rolled[-1] - 0.5)])
        return down, self._tipping(layout, arrived, take) if outcome == "tips" else still

    def _tipping(self, layout: Layout, start: float, take: Take) -> Poses:
        """A tall block by the engine; a low one, which would not tip, is turned about its lower edge."""
        x, w, h, ground = layout["block"], layout["w"], layout["h"], layout.ground
        if h > w:
            block = Body(x=x, y=ground - h / 2, w=w, h=h, friction=0.9, bounce=0.02)
            push = knock(2.6 + 0.1 * take.nudge, h)
            return simulate([block], ground=ground, start=start, push=push, pace=0.85)[0]
        angle = 0.5 * np.pi * ramp(FRAME_BEATS, start, start + 5.0)
        return Poses(
            x + w / 2 - (w / 2) * np.cos(angle) + (h / 2) * np.sin(angle),
            ground - (w / 2) * np.sin(angle) - (h / 2) * np.cos(angle),
            angle,
        )

    def _ramp(self, layout: Layout) -> Sprite:
        top, foot = layout["top"], layout["foot"]
        return sprite("ramp", layout, x=(top + foot) / 2, w=foot - top, h="height")

    def _ice(self, variant: str, layout: Layout, slope: _Slope, melt: Array) -> Sprite:
        """It shrinks towards what it stands on, and on the ramp stays against the ball."""
        size = layout["size"] * np.sqrt(np.maximum(1.0 - melt, 0.0)) + 0.01
        alpha = shown(melt < 0.97)
        values: dict[str, Any] = {"w": size, "h": size, "alpha": alpha, "order": 2.0, "grounded": False}
        if variant == "stone":
            return sprite("ice", layout, x="ice", base=layout.ground, **values)
        x, y = slope.point(slope.ball + layout["r"] + size / 2, size / 2)
        return sprite("ice", layout, x=x, y=y, angle=slope.angle, **values)

    def _stone(self, layout: Layout, slope: _Slope) -> Sprite:
        w, h = layout["size"] * 1.15, layout["size"] * 0.72
        x, y = slope.point(slope.ball + layout["r"] + 0.36 * w, 0.5 * h)
        color = (0.58, 0.60, 0.63)
        return sprite(
            "stone", layout, x=x, y=y, w=w, h=h, angle=slope.angle, color=color, order=2, grounded=False
        )

    def _ball(self, layout: Layout, pose: Poses) -> Sprite:
        d = 2 * layout["r"]
        return sprite("ball", layout, at=pose, w=d, h=d, order=3)

    def _block(self, layout: Layout, pose: Poses) -> Sprite:
        return sprite("block", layout, at=pose, w="w", h="h", order=1)


class _Slope:
    """Places on the ramp: so far down from its top, so high above its face."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        run = layout["foot"] - layout["top"]
        self.angle = float(np.arctan2(layout["height"], run))
        self.length = float(np.hypot(layout["height"], run))
        self.ball = layout["r"] + 1.5  # how far down the ball is held

    def point(self, down: Value, above: Value) -> tuple[Value, Value]:
        c, s = np.cos(self.angle), np.sin(self.angle)
        x = self.layout["top"] + down * c + above * s
        return x, self.layout.ground - self.layout["height"] + down * s - above * c

    def plank(self) -> Body:
        """What the engine knows of the ramp."""
        x, y = self.point(self.length / 2, -10.0)
        return Body(x=x, y=y, w=self.length, h=20.0, angle=self.angle, friction=0.0)
