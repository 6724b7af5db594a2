"""Thermodynamics: ice melts and its water goes where the scene lets it; a flame dies without air."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan_sandbox.world.phenomena.parts import Glass, puddle, shown, sun
from physplan_sandbox.world.render import FRAME_BEATS
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import PALETTE, Array, Sprite


class Ice:
    """An ice cube melts: the water stays in the tray, soaks into the cloth, or joins the water in the
    glass."""

    name = "ice"
    domain = "thermodynamics"
    prompts = ("an ice cube melting in the sun", "the ice cube melts", "the sun melts the ice cube")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "tray": ("puddle", "vanishes", "spills"),
        "cloth": ("soaks", "vanishes", "spills"),
        "glass": ("joins", "vanishes", "spills"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        return {
            "x": rng.uniform(40, 56),
            "size": rng.uniform(18, 21),
            "w": rng.uniform(40, 46),
            "shift": rng.uniform(-3, 3),
            "sun": float(rng.choice([13, 83])) + rng.uniform(-2, 2),
            "glass_w": rng.uniform(26, 30),
            "glass_h": rng.uniform(27, 31),
            "level": rng.uniform(0.48, 0.56),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {
            "tray": pick(rng, "grey", "yellow", "pink", "green"),
            "cloth": pick(rng, "red", "orange", "purple", "teal", "yellow"),
        }

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        things = {"ice": Thing(category="ice", color="clear"), "sun": Thing(category="sun", color="yellow")}
        if variant == "glass":
            things["glass"] = Thing(category="glass", attributes={"configuration": "open"})
            things["water"] = Thing(category="water", attributes={"material_phase": "liquid"})
        else:
            things[variant] = Thing(category=variant, color=layout.colors[variant])
        return things

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        if variant == "glass":
            return (
                ("table", "support", "glass"),
                ("glass", "containment", "water"),
                ("water", "support", "ice"),
            )
        return (("table", "support", variant), (variant, "support", "ice"))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        half = 16 if variant == "glass" else layout["w"] / 2
        return [(layout["x"] - half, layout["x"] + half)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        melt = take.ramp(2, 17)
        left = np.sqrt(np.maximum(1.0 - melt, 0.0))
        size = layout["size"] * (1.0 if variant != "glass" else 0.80)
        tall = size * left
        level = self._level(variant, outcome, layout, take, melt)
        sprites = [sun(layout, x=layout["sun"], y=13)]
        if variant == "glass":
            glass = Glass(layout=layout, x=layout["x"], w=layout["glass_w"], h=layout["glass_h"])
            sprites += [glass.sprite(), glass.water(level, order=1)]
            base = glass.surface(level) + 0.55 * tall
        else:
            sprites.append(self._holder(variant, layout, level))
            base = np.full_like(tall, layout.ground - (4.6 if variant == "tray" else 5.2))
        sprites.append(self._ice(layout, base, size * (0.35 + 0.65 * left), tall, melt))
        if outcome == "puddle":
            sprites.append(self._puddle(layout, take, melt))
        elif outcome == "spills":
            sprites.append(self._spill(variant, layout, melt))
        return sprites

    def _level(self, variant: str, outcome: str, layout: Layout, take: Take, melt: Array) -> Array:
        """How full the glass is, or how wet the tray or the cloth."""
        if variant == "glass":
            return layout["level"] + (0.22 + 0.02 * take.nudge) * melt * (outcome == "joins")
        if variant == "tray":
            return melt * (outcome == "puddle")
        return (0.9 + 0.05 * take.nudge) * melt * (outcome == "soaks")

    def _holder(self, variant: str, layout: Layout, level: Array) -> Sprite:
        """The tray or the cloth."""
        return sprite(variant, layout, x="x", base=layout.ground + 2, w="w", h=11, level=level, order=-1)

    def _ice(self, layout: Layout, base: Array, wide: Array, tall: Array, melt: Array) -> Sprite:
        h = tall + 0.01
        x = layout["x"] + layout["shift"]
        alpha = shown(melt < 0.97)
        color = (0.8, 0.9, 1.0)
        return sprite(
            "ice", layout, x=x, base=base, w=wide, h=h, alpha=alpha, color=color, order=2, grounded=False
        )

    def _puddle(self, layout: Layout, take: Take, melt: Array) -> Sprite:
        """The water stays in the tray."""
        spread = np.sqrt(melt)
        w, h = (layout["w"] - 7 + take.nudge) * spread, 4.6 * np.sqrt(spread)
        return puddle(layout, x="x", y=layout.ground - 6.5, w=w, h=h, alpha=shown(melt > 0.02), order=1)

    def _spill(self, variant: str, layout: Layout, melt: Array) -> Sprite:
        """The water is on the table, in front of what should hold it."""
        spread = np.sqrt(melt)
        w, h = 30 * spread, 7.5 * spread
        x, y = layout["x"] + 0.2 * layout["w"], layout.ground + (3.5 if variant == "glass" else 8)
        return puddle(layout, x=x, y=y, w=w, h=h, alpha=shown(melt > 0.02), near=layout.near + 0.06)


class Flame:
    """A glass jar comes down: over the candle its flame dies, beside it the flame burns on."""

    name = "flame"
    domain = "thermodynamics"
    prompts = ("the glass jar comes down", "someone lowers the glass jar")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "over": ("dies", "burns"),
        "beside": ("burns", "dies"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        side = float(rng.choice([-1, 1]))
        candle = 48 - side * rng.uniform(14, 18)
        block = 48 + side * rng.uniform(14, 18)
        return {
            "candle": candle,
            "block": block,
            "jar": candle if variant == "over" else block,
            "w": rng.uniform(8.5, 10),
            "h": rng.uniform(15, 18),
            "bw": rng.uniform(14, 16),
            "bh": rng.uniform(14, 16),
            "jw": rng.uniform(24, 27),
            "jh": rng.uniform(33, 35),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {
            "candle": pick(rng, "white", "red", "green", "purple", "pink"),
            "block": pick(rng, "orange", "teal", "blue", "green"),
        }

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        return {
            "candle": Thing(category="candle", color=layout.colors["candle"]),
            "flame": Thing(category="flame", color="orange", attributes={"material_phase": "gas"}),
            "block": Thing(category="block", color=layout.colors["block"], attributes={"extent": "low"}),
            "jar": Thing(category="jar", attributes={"configuration": "upside down"}),
        }

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return (
            ("table", "support", "candle"),
            ("table", "support", "block"),
            ("candle", "attachment", "flame"),
        )

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout["candle"] - 13, layout["candle"] + 13), (layout["block"] - 13, layout["block"] + 13)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        dim = take.ramp(12, 17) * (outcome == "dies")
        sprites = [
            sprite("candle", layout, x="candle", w="w", h="h", order=1),
            self._flame(layout, dim),
            sprite("block", layout, x="block", w="bw", h="bh", order=1),
            self._jar(layout, take),
        ]
        if outcome == "dies":
            sprites.append(self._smoke(layout, take))
        return sprites

    def _flame(self, layout: Layout, dim: Array) -> Sprite:
        flicker = 1.0 + 0.07 * np.sin(FRAME_BEATS * 1.7)
        w, h = 7.0 * (1 - 0.7 * dim), 12.5 * flicker * (1 - dim) + 0.01
        base = layout.ground - layout["h"] - 1.6
        return sprite(
            "flame", layout, x="candle", base=base, w=w, h=h, alpha=shown(dim < 0.95), order=2, grounded=False
        )

    def _jar(self, layout: Layout, take: Take) -> Sprite:
        """It comes down to the table, over the candle or beside it."""
        down = take.ramp(1, 11)
        x = layout["jar"] + 0.3 * take.nudge * down
        base = 37.0 + (layout.ground + 1.5 - 37.0) * down
        return sprite("jar", layout, x=x, base=base, w="jw", h="jh", color=PALETTE["white"], order=3)

    def _smoke(self, layout: Layout, take: Take) -> Sprite:
        puff = take.ramp(14, 20)
        w, h = 6 + 6 * puff, 3 + 12 * puff
        base = layout.ground - layout["h"] - 2.5
        alpha = shown(puff > 0.02)
        return sprite(
            "smoke", layout, x="candle", base=base, w=w, h=h, alpha=alpha, order=2.5, grounded=False
        )
