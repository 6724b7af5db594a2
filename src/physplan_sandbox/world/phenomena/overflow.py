"""Fluid dynamics: a glass runs over, and what its water reaches is carried away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan_sandbox.world.phenomena.parts import WATER, Glass, puddle, shown, stream, tap
from physplan_sandbox.world.render import FRAME_BEATS
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import Array, Sprite, Value

FULL_BEAT = 9.0  # the beat at which the glass is full


class Overflow:
    """The tap runs: a glass overflows and the puddle carries the paper boat away, unless the boat stands on a
    stone; a jug takes all the water."""

    name = "overflow"
    domain = "fluid dynamics"
    prompts = ("nobody closes the tap", "water keeps coming from the tap")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "glass": ("drifts", "stays", "holds"),
        "stone": ("stays", "drifts", "holds"),
        "jug": ("holds", "drifts", "vanishes"),
    }
    crowd = 5

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        side = float(rng.choice([-1, 1]))
        w, h = (
            (rng.uniform(29, 32), rng.uniform(29, 32))
            if variant == "jug"
            else (rng.uniform(19, 22), rng.uniform(21, 24))
        )
        vessel = rng.uniform(21, 23) if variant == "jug" else rng.uniform(19.5, 22)
        boat_w = rng.uniform(19, 21)
        stone_w = boat_w + rng.uniform(4, 6)
        wide = stone_w if variant == "stone" else boat_w
        boat = vessel + w / 2 + rng.uniform(4.5, 7.0) + wide / 2
        end = rng.uniform(77, 80)
        return {
            "side": side,
            "vessel": 48 + side * (vessel - 48),
            "tap": 48 + side * (vessel - 48),
            "boat": 48 + side * (boat - 48),
            "end": 48 + side * (end - 48),
            "w": w,
            "h": h,
            "boat_w": boat_w,
            "boat_h": rng.uniform(15, 17),
            "stone_w": stone_w,
            "stone_h": rng.uniform(8.5, 9.5),
            "spout": rng.uniform(21, 25),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {
            "tap": pick(rng, "grey", "dark", "yellow"),
            "boat": pick(rng, "red", "orange", "yellow", "pink", "purple", "white"),
            "stone": "grey",
        }

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        vessel = _vessel(variant)
        things = {
            "tap": Thing(category="tap", color=layout.colors["tap"]),
            vessel: Thing(category=vessel, attributes={"configuration": "open"}),
            "boat": Thing(category="boat", color=layout.colors["boat"]),
        }
        if variant == "stone":
            things["stone"] = Thing(category="stone", color="grey")
        return things

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        found = (("table", "support", _vessel(variant)),)
        if variant == "stone":
            return (*found, ("table", "support", "stone"), ("stone", "support", "boat"))
        return (*found, ("table", "support", "boat"))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        half = layout["w"] / 2 + 1
        taken = [(layout["vessel"] - half, layout["vessel"] + half)]
        if variant == "stone":
            taken.append((layout["boat"] - 8, layout["boat"] + 8))
        return taken

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        vessel = Glass(
            layout=layout,
            x=layout["vessel"],
            w=layout["w"],
            h=layout["h"],
            category=_vessel(variant),
            headroom=1.6,
            look={"handle": -layout["side"]},
        )
        spilling = outcome == "drifts" or (outcome == "stays" and variant != "jug")
        sprites = [
            tap(layout),
            vessel.sprite(),
            stream(layout, take, layout.ground - 1.5, w=4.4, reach=4, closed=17.5),
        ]
        if outcome != "vanishes":
            rise = take.ramp(3, FULL_BEAT) if variant != "jug" else 0.66 * take.ramp(3, 19)
            sprites.append(vessel.water(rise, alpha=shown(rise > 0.01), order=2))
        if spilling:
            sprites += [self._puddle(layout, take)]
            sprites += [self._spill(layout, take)] if variant != "jug" else []
        if variant == "stone":
            sprites.append(self._stone(layout))
        return [*sprites, self._boat(variant, layout, take, drifts=outcome == "drifts")]

    def _spill(self, layout: Layout, take: Take) -> Sprite:
        """What runs down the sides of the full glass."""
        down = take.ramp(FULL_BEAT - 0.3, FULL_BEAT + 1.7)
        tall = (layout["h"] - 0.5) * down + 0.01
        return sprite(
            "stream",
            layout,
            kind="spill",
            x="vessel",
            y=layout.ground - layout["h"] + tall / 2,
            w=layout["w"] + 1.6,
            h=tall,
            alpha=shown(down > 0.02) * (1.0 - take.ramp(18.5, 20)),
            color=WATER,
            order=3,
            grounded=False,
        )

    def _puddle(self, layout: Layout, take: Take) -> Sprite:
        """It spreads from the vessel's foot, farther to the boat's side, where the table slopes."""
        side, start = layout["side"], FULL_BEAT + 0.5
        spread = take.ramp(start, 19.5)
        back = 0.5 * layout["w"] + 5.0
        near_end = layout["vessel"] - side * back * np.sqrt(spread)
        far = 48 + side * 42.5 + 0.8 * take.nudge
        far_end = layout["vessel"] + (far - layout["vessel"]) * np.maximum(spread, 0.35 * np.sqrt(spread))
        w, h = np.abs(far_end - near_end) + 0.01, 5.0 * np.sqrt(spread) + 9.0 * spread + 0.01
        x, y = 0.5 * (near_end + far_end), layout.ground + 3.0
        return puddle(layout, x=x, y=y, w=w, h=h, alpha=shown(spread > 0.01), order=-1)

    def _stone(self, layout: Layout) -> Sprite:
        return sprite("stone", layout, x="boat", base=layout.ground + 2.0, w="stone_w", h="stone_h")

    def _boat(self, variant: str, layout: Layout, take: Take, *, drifts: bool) -> Sprite:
        foot = layout.ground + (2.5 - layout["stone_h"] if variant == "stone" else 1.0)
        x: Value = layout["boat"]
        base: Value = foot
        angle: Value = 0.0
        if drifts:
            away = take.ramp(13.5, 21)
            rocking: Array = away * (1.0 - 0.6 * away) * np.sin(FRAME_BEATS * 1.1)
            x = x + (layout["end"] - x) * away
            base = foot + (layout.ground + 2.5 - foot) * take.ramp(13.0, 15.5)
            angle = 0.16 * rocking
        return sprite("boat", layout, x=x, base=base, w="boat_w", h="boat_h", angle=angle, order=4)


def _vessel(variant: str) -> str:
    return "jug" if variant == "jug" else "glass"
