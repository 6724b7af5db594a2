"""Thermodynamics: ice melts and its water goes where the scene lets it; a flame dies without air."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan.sandbox.world.phenomena.fluids import WATER
from physplan.sandbox.world.render import FRAMES
from physplan.sandbox.world.scene import Layout, Phenomenon, Take, Thing, pick, sprite
from physplan.sandbox.world.sprites import PALETTE, Sprite


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
        things = {
            "ice": Thing(category="ice", color="clear"),
            "sun": Thing(category="sun", color="yellow"),
        }
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
        ground, x = layout.ground, layout["x"]
        melt = take.ramp(2, 17)
        left = np.sqrt(np.maximum(1.0 - melt, 0.0))
        size = layout["size"] * (1.0 if variant != "glass" else 0.80)
        side, tall = size * (0.35 + 0.65 * left), size * left
        gone = (melt < 0.97).astype(np.float32)
        sprites = [sprite("sun", layout, x=layout["sun"], y=13, w=13, h=13, near=0.06, grounded=False)]
        if variant == "glass":
            gw, gh = layout["glass_w"], layout["glass_h"]
            level = layout["level"] + (0.22 + 0.02 * take.nudge) * melt * (outcome == "joins")
            surface = ground - 1.3 - (gh - 3.5) * level
            sprites += [
                sprite("glass", layout, x=x, base=ground, w=gw, h=gh, color=WATER),
                sprite(
                    "water",
                    layout,
                    x=x,
                    base=ground - 1.3,
                    w=gw - 2.6,
                    h=gh - 3.5,
                    level=level,
                    color=WATER,
                    order=1,
                    grounded=False,
                ),
            ]
            base = surface + 0.55 * tall
            ice_x, spill_y = x + layout["shift"], ground + 3.5
        elif variant == "tray":
            sprites.append(
                sprite(
                    "tray",
                    layout,
                    x=x,
                    base=ground + 2,
                    w=layout["w"],
                    h=11,
                    level=melt * (outcome == "puddle"),
                    color=layout.rgb("tray"),
                    order=-1,
                )
            )
            base, ice_x, spill_y = ground - 4.6 + 0 * tall, x + layout["shift"], ground + 8
        else:
            sprites.append(
                sprite(
                    "cloth",
                    layout,
                    x=x,
                    base=ground + 2,
                    w=layout["w"],
                    h=11,
                    level=(0.9 + 0.05 * take.nudge) * melt * (outcome == "soaks"),
                    color=layout.rgb("cloth"),
                    order=-1,
                )
            )
            base, ice_x, spill_y = ground - 5.2 + 0 * tall, x + layout["shift"], ground + 8
        sprites.append(
            sprite(
                "ice",
                layout,
                x=ice_x,
                base=base,
                w=side,
                h=tall + 0.01,
                alpha=gone,
                color=(0.8, 0.9, 1.0),
                order=2,
                grounded=False,
            )
        )
        spread = np.sqrt(melt)
        shown = (melt > 0.02).astype(np.float32)
        if outcome == "puddle":
            sprites.append(
                sprite(
                    "puddle",
                    layout,
                    x=x,
                    y=ground - 6.5,
                    w=(layout["w"] - 7 + take.nudge) * spread,
                    h=4.6 * np.sqrt(spread),
                    alpha=shown,
                    color=WATER,
                    order=1,
                    grounded=False,
                )
            )
        elif outcome == "spills":
            sprites.append(
                sprite(
                    "puddle",
                    layout,
                    x=x + 0.2 * layout["w"],
                    y=spill_y,
                    w=30 * spread,
                    h=7.5 * spread,
                    alpha=shown,
                    color=WATER,
                    near=layout.near + 0.06,
                    grounded=False,
                )
            )
        return sprites


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
        ground, candle = layout.ground, layout["candle"]
        top = ground - layout["h"]
        down = take.ramp(1, 11)
        base = 37.0 + (ground + 1.5 - 37.0) * down
        dim = take.ramp(12, 17) * (outcome == "dies")
        flicker = 1.0 + 0.07 * np.sin(np.arange(FRAMES) * 1.7)
        tall = 12.5 * flicker * (1 - dim) + 0.01
        sprites = [
            sprite(
                "candle",
                layout,
                x=candle,
                base=ground,
                w=layout["w"],
                h=layout["h"],
                color=layout.rgb("candle"),
                order=1,
            ),
            sprite(
                "flame",
                layout,
                x=candle,
                base=top - 1.6,
                w=7.0 * (1 - 0.7 * dim),
                h=tall,
                alpha=(dim < 0.95).astype(np.float32),
                order=2,
                grounded=False,
            ),
            sprite(
                "block",
                layout,
                x=layout["block"],
                base=ground,
                w=layout["bw"],
                h=layout["bh"],
                color=layout.rgb("block"),
                order=1,
            ),
            sprite(
                "jar",
                layout,
                x=layout["jar"] + 0.3 * take.nudge * down,
                base=base,
                w=layout["jw"],
                h=layout["jh"],
                color=PALETTE["white"],
                order=3,
            ),
        ]
        if outcome == "dies":
            puff = take.ramp(14, 20)
            sprites.append(
                sprite(
                    "smoke",
                    layout,
                    x=candle,
                    base=top - 2.5,
                    w=6 + 6 * puff,
                    h=3 + 12 * puff,
                    alpha=(puff > 0.02).astype(np.float32),
                    order=2.5,
                    grounded=False,
                )
            )
        return sprites


PHENOMENA: tuple[Phenomenon, ...] = (Ice(), Flame())
