"""Fluid dynamics: water runs into what is below it, ink goes where it lands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan_sandbox.world.phenomena.parts import WATER, Glass, puddle, shown, stream, tap
from physplan_sandbox.world.render import FRAME_BEATS
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import PALETTE, Array, Sprite, Value, mix


class Pour:
    """The tap runs: the water fills the glass below it, or makes a puddle on the table."""

    name = "pour"
    domain = "fluid dynamics"
    prompts = ("water pours from the tap", "the tap is turned on")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "glass": ("fills", "puddle", "vanishes"),
        "table": ("puddle", "fills", "vanishes"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        side = float(rng.choice([-1, 1]))
        tap = 48 + side * rng.uniform(-4, 6)
        glass = tap if variant == "glass" else tap - side * rng.uniform(25, 29)
        return {
            "tap": tap,
            "glass": glass,
            "side": side,
            "w": rng.uniform(22, 26),
            "h": rng.uniform(25, 28),
            "spout": rng.uniform(22, 26),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {"tap": pick(rng, "grey", "dark", "yellow")}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        return {
            "tap": Thing(category="tap", color=layout.colors["tap"]),
            "glass": Thing(category="glass", attributes={"configuration": "open"}),
        }

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return (("table", "support", "glass"),)

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout["glass"] - 13, layout["glass"] + 13), (layout["tap"] - 8, layout["tap"] + 8)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        glass = Glass(layout=layout, x=layout["glass"], w=layout["w"], h=layout["h"])
        rise = take.ramp(4, 18)
        sprites = [tap(layout), glass.sprite(), self._stream(layout, take)]
        if outcome == "fills":
            level = (0.80 + 0.03 * take.nudge) * rise
            sprites.append(glass.water(level, alpha=shown(rise > 0.01), order=2))
        elif outcome == "puddle":
            sprites.append(self._puddle(layout, take, rise))
        return sprites

    def _stream(self, layout: Layout, take: Take) -> Sprite:
        """Its head runs down to whatever is below the tap; when the tap is closed, its tail follows."""
        over_glass = abs(layout["tap"] - layout["glass"]) < layout["w"] / 2
        floor = layout.ground - 1.5 if over_glass else layout.ground + 1.0
        return stream(layout, take, floor, w=4.0, reach=5, closed=16)

    def _puddle(self, layout: Layout, take: Take, rise: Array) -> Sprite:
        spread = np.sqrt(rise)
        w, h = (36 + 2 * take.nudge) * spread, 8.0 * spread
        return puddle(
            layout, x=layout["tap"] + 0.4, y=layout.ground + 2.0, w=w, h=h, alpha=shown(rise > 0.01), order=-1
        )


class Ink:
    """A drop of ink: water takes its colour, paper takes a blot."""

    name = "ink"
    domain = "fluid dynamics"
    prompts = ("a drop of ink falls", "the dropper lets a drop of ink fall")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "water": ("mixes", "sinks", "vanishes"),
        "paper": ("blots", "beads", "vanishes"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        return {
            "x": rng.uniform(38, 58),
            "tip": rng.uniform(28, 31),
            "w": rng.uniform(23, 27),
            "h": rng.uniform(25, 28),
            "level": rng.uniform(0.64, 0.74),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {"ink": pick(rng, "red", "purple", "green", "blue"), "paper": "white"}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        liquid = {"material_phase": "liquid"}
        things = {
            "dropper": Thing(category="dropper", color="dark"),
            "drop": Thing(category="drop", color=layout.colors["ink"], attributes=liquid),
        }
        if variant == "water":
            things["glass"] = Thing(category="glass", attributes={"configuration": "open"})
            things["water"] = Thing(category="water", color="clear", attributes=liquid)
        else:
            things["paper"] = Thing(category="paper", color="white")
        return things

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        hangs = (("dropper", "attachment", "drop"),)
        if variant == "water":
            return (*hangs, ("table", "support", "glass"), ("glass", "containment", "water"))
        return (*hangs, ("table", "support", "paper"))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout["x"] - 16, layout["x"] + 16)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        glass = Glass(layout=layout, x=layout["x"], w=layout["w"], h=layout["h"])
        after = take.ramp(7, 17)
        if variant == "water":
            below, landing = self._water(outcome, layout, glass, after), glass.surface(layout["level"])
            bottom = layout.ground - 5.0
        else:
            below, landing = self._paper(outcome, layout, take, after), layout.ground + 0.5
            bottom = layout.ground - 1.6
        if outcome in ("sinks", "beads"):
            drop = self._drop(layout, bottom, take.ramp(2, 10), alpha=1.0)
        else:
            drop = self._drop(layout, landing, take.ramp(2, 8), alpha=shown(7.4 * take.pace > FRAME_BEATS))
        return [self._dropper(layout), drop, *below]

    def _dropper(self, layout: Layout) -> Sprite:
        x, y = layout["x"], layout["tip"] - 10
        return sprite(
            "dropper", layout, x=x, y=y, w=8, h=20, color=layout.rgb("ink"), order=4, grounded=False
        )

    def _drop(self, layout: Layout, end: float, fall: Array, *, alpha: Value) -> Sprite:
        """The drop on its way from the dropper down to `end`."""
        start = layout["tip"] + 4.0
        y = start + (end - start) * fall**1.3
        color = layout.rgb("ink")
        return sprite(
            "drop", layout, x="x", y=y, w=7.0, h=9.0, color=color, order=3, alpha=alpha, grounded=False
        )

    def _water(self, outcome: str, layout: Layout, glass: Glass, after: Array) -> list[Sprite]:
        """The glass of water; when they mix, a cloud of ink grows in it and then all of it has the colour."""
        ink = layout.rgb("ink")
        if outcome != "mixes":
            return [glass.sprite(), glass.water(layout["level"], order=1)]
        w, h = (glass.w - 6) * np.sqrt(after), 12 * np.sqrt(after)
        x, y = glass.x, glass.surface(layout["level"]) + 4 + 8 * after
        alpha = 0.8 * (after > 0.01) * (after < 0.98)
        cloud = sprite(
            "water", layout, kind="cloud", x=x, y=y, w=w, h=h, alpha=alpha, color=ink, order=2, grounded=False
        )
        return [
            glass.sprite(),
            glass.water(layout["level"], color=mix(WATER, ink, 0.92 * after), order=1),
            cloud,
        ]

    def _paper(self, outcome: str, layout: Layout, take: Take, after: Array) -> list[Sprite]:
        x, ground, white = layout["x"], layout.ground, PALETTE["white"]
        sheet = sprite("paper", layout, x=x, y=ground, w=layout["w"] * 1.75, h=10, color=white, order=-2)
        if outcome != "blots":
            return [sheet]
        size = np.sqrt(after)
        w, h = (22 + take.nudge) * size, 6.4 * size
        y = ground + 0.5
        alpha = shown(after > 0.01)
        blot = sprite(
            "blot", layout, x=x, y=y, w=w, h=h, color=layout.rgb("ink"), alpha=alpha, order=2, grounded=False
        )
        return [sheet, blot]
