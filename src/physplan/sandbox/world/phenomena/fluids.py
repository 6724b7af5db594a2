"""Fluid dynamics: water runs into what is below it, ink goes where it lands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan.sandbox.world.render import FRAMES
from physplan.sandbox.world.scene import Layout, Phenomenon, Take, Thing, pick, sprite
from physplan.sandbox.world.sprites import PALETTE, Sprite, mix

WATER = (0.42, 0.68, 0.88)


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
        ground, w, h = layout.ground, layout["w"], layout["h"]
        spout, x = layout["spout"], layout["tap"]
        floor = ground - 1.5 if abs(x - layout["glass"]) < w / 2 else ground + 1.0
        head = spout + (floor - spout) * take.ramp(1, 5)
        tail = spout + (floor - spout) * take.ramp(16, 20)
        rise = take.ramp(4, 18)
        sprites = [
            sprite(
                "tap",
                layout,
                x=x - 3.2,
                y=spout - 6.0,
                w=13,
                h=12,
                color=layout.rgb("tap"),
                order=3,
                grounded=False,
            ),
            sprite("glass", layout, x=layout["glass"], base=ground, w=w, h=h, color=WATER),
            sprite(
                "stream",
                layout,
                x=x + 0.4,
                y=(head + tail) / 2,
                w=4.0,
                h=np.maximum(head - tail, 0.01),
                alpha=(head - tail > 0.8).astype(np.float32),
                color=WATER,
                order=1,
                grounded=False,
            ),
        ]
        if outcome == "fills":
            sprites.append(
                sprite(
                    "water",
                    layout,
                    x=layout["glass"],
                    base=ground - 1.3,
                    w=w - 2.6,
                    h=h - 3.5,
                    level=(0.80 + 0.03 * take.nudge) * rise,
                    alpha=(rise > 0.01).astype(np.float32),
                    color=WATER,
                    order=2,
                    grounded=False,
                )
            )
        elif outcome == "puddle":
            spread = np.sqrt(rise)
            sprites.append(
                sprite(
                    "puddle",
                    layout,
                    x=x + 0.4,
                    y=ground + 2.0,
                    w=(36 + 2 * take.nudge) * spread,
                    h=8.0 * spread,
                    alpha=(rise > 0.01).astype(np.float32),
                    color=WATER,
                    order=-1,
                    grounded=False,
                )
            )
        return sprites


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
        ground, x, tip, w, h = layout.ground, layout["x"], layout["tip"], layout["w"], layout["h"]
        ink = layout.rgb("ink")
        clear = WATER
        start = tip + 4.0
        in_water = variant == "water"
        surface = ground - 1.3 - (h - 3.5) * layout["level"] if in_water else ground + 0.5
        bottom = ground - 5.0 if in_water else ground - 1.6
        stays = outcome in ("sinks", "beads")
        fall = start + ((bottom if stays else surface) - start) * take.ramp(2, 8 if not stays else 10) ** 1.3
        after = take.ramp(7, 17)
        sprites = [
            sprite(
                "dropper",
                layout,
                x=x,
                y=tip - 10,
                w=8,
                h=20,
                color=layout.rgb("ink"),
                order=4,
                grounded=False,
            ),
            sprite(
                "drop",
                layout,
                x=x,
                y=fall,
                w=7.0,
                h=9.0,
                color=layout.rgb("ink"),
                order=3,
                alpha=1.0 if stays else (np.arange(FRAMES) < 7.4 * take.pace).astype(np.float32),
                grounded=False,
            ),
        ]
        if in_water:
            sprites += [
                sprite("glass", layout, x=x, base=ground, w=w, h=h, color=WATER),
                sprite(
                    "water",
                    layout,
                    x=x,
                    base=ground - 1.3,
                    w=w - 2.6,
                    h=h - 3.5,
                    level=layout["level"],
                    color=mix(clear, ink, (0.92 * after) if outcome == "mixes" else 0 * after),
                    order=1,
                    grounded=False,
                ),
            ]
            if outcome == "mixes":
                sprites.append(
                    sprite(
                        "water",
                        layout,
                        kind="cloud",
                        x=x,
                        y=surface + 4 + 8 * after,
                        w=(w - 6) * np.sqrt(after),
                        h=12 * np.sqrt(after),
                        alpha=0.8 * (after > 0.01) * (after < 0.98),
                        color=ink,
                        order=2,
                        grounded=False,
                    )
                )
        else:
            sprites.append(
                sprite("paper", layout, x=x, y=ground, w=w * 1.75, h=10, color=PALETTE["white"], order=-2)
            )
            if outcome == "blots":
                size = np.sqrt(after)
                sprites.append(
                    sprite(
                        "blot",
                        layout,
                        x=x,
                        y=ground + 0.5,
                        w=(22 + take.nudge) * size,
                        h=6.4 * size,
                        color=layout.rgb("ink"),
                        alpha=(after > 0.01).astype(np.float32),
                        order=2,
                        grounded=False,
                    )
                )
        return sprites


PHENOMENA: tuple[Phenomenon, ...] = (Pour(), Ink())
