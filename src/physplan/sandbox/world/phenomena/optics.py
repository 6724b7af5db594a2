"""Optics: light falls where the lamp faces, colour comes from what is in front, shadows point away from the
sun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan.sandbox.world.scene import Layout, Phenomenon, Take, Thing, pick, sprite
from physplan.sandbox.world.sprites import Sprite, mix

VASES = ("red", "green", "teal", "blue", "purple", "orange")


class Lamp:
    """A lamp between two vases lights the one that it faces."""

    name = "lamp"
    domain = "optics"
    prompts = ("the lamp is switched on", "someone switches the lamp on")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "left": ("lights_left", "lights_right", "glows"),
        "right": ("lights_right", "lights_left", "glows"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        x = rng.uniform(46, 50)
        return {
            "x": x,
            "left": x - rng.uniform(29, 33),
            "right": x + rng.uniform(29, 33),
            "w": rng.uniform(14, 16),
            "h": rng.uniform(22, 25),
            "tall": rng.uniform(36, 40),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        left, right = rng.choice(VASES, 2, replace=False)
        return {"lamp": pick(rng, "dark", "grey", "yellow"), "left": str(left), "right": str(right)}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        return {
            "lamp": Thing(
                category="lamp",
                color=layout.colors["lamp"],
                attributes={"configuration": f"facing {variant}"},
            ),
            "vase0": Thing(category="vase", color=layout.colors["left"]),
            "vase1": Thing(category="vase", color=layout.colors["right"]),
        }

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return tuple(("table", "support", k) for k in ("lamp", "vase0", "vase1"))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout[k] - 8, layout[k] + 8) for k in ("x", "left", "right")]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        ground, x = layout.ground, layout["x"]
        facing = -1.0 if variant == "left" else 1.0
        on = take.ramp(3, 8)
        toward = {"lights_left": -1.0, "lights_right": 1.0, "glows": 0.0}[outcome]
        sprites = [
            sprite(
                "lamp",
                layout,
                x=x,
                base=ground,
                w=15,
                h=layout["tall"],
                level=on,
                color=layout.rgb("lamp"),
                look={"facing": facing},
                order=3,
            ),
        ]
        for key, side, sign in (("vase0", "left", -1.0), ("vase1", "right", 1.0)):
            lit = on * (1.0 + 0.04 * take.nudge) if sign == toward else 0.0
            sprites.append(
                sprite(
                    key,
                    layout,
                    category="vase",
                    x=layout[side],
                    base=ground,
                    w=layout["w"],
                    h=layout["h"],
                    level=lit,
                    color=layout.rgb(side),
                    order=1,
                )
            )
        if toward:
            top = ground - layout["tall"] * 0.80
            width = 36.0
            sprites.append(
                sprite(
                    "beam",
                    layout,
                    x=x + toward * (7 + width / 2),
                    y=(top + ground + 1) / 2,
                    w=width,
                    h=ground + 1 - top,
                    level=on,
                    look={"facing": toward},
                    alpha=(on > 0.01).astype(np.float32),
                    order=0,
                    grounded=False,
                )
            )
        return sprites


class Filter:
    """A sheet of coloured glass slides to the vase: in front of it, or behind it, as its track runs."""

    name = "filter"
    domain = "optics"
    prompts = ("the coloured glass slides to the right", "someone slides the coloured glass to the right")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "near": ("in_front", "behind", "stops_short"),
        "far": ("behind", "in_front", "stops_short"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        return {
            "pane": rng.uniform(15, 20),
            "vase": rng.uniform(60, 68),
            "pane_w": rng.uniform(21, 24),
            "pane_h": rng.uniform(29, 32),
            "w": rng.uniform(15, 17),
            "h": rng.uniform(23, 26),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {
            "pane": pick(rng, "red", "blue", "green", "purple"),
            "vase": pick(rng, "white", "yellow", "pink", "orange"),
        }

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        return {
            "pane": Thing(category="pane", color=layout.colors["pane"]),
            "vase0": Thing(category="vase", color=layout.colors["vase"]),
        }

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return (("table", "support", "pane"), ("table", "support", "vase0"))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout["pane"] - 13, layout["pane"] + 13), (layout["vase"] - 13, layout["vase"] + 13)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        ground = layout.ground
        base = ground + 7.0 if variant == "near" else ground - 7.0
        step = 7.0 * 0.75 / 51.0
        near = layout.near + (step if variant == "near" else -step)
        if outcome == "in_front":
            drawn = max(near, layout.near + 0.01)
        elif outcome == "behind":
            drawn = min(near, layout.near - 0.01)
        else:
            drawn = near
        end = (
            layout["vase"] + take.nudge
            if outcome != "stops_short"
            else mix(layout["pane"], layout["vase"], 0.30)
        )
        x = mix(layout["pane"], end, take.ramp(1, 14))
        return [
            sprite(
                "vase0",
                layout,
                category="vase",
                x=layout["vase"],
                base=ground,
                w=layout["w"],
                h=layout["h"],
                color=layout.rgb("vase"),
            ),
            sprite(
                "pane",
                layout,
                x=x,
                base=base,
                w=layout["pane_w"],
                h=layout["pane_h"],
                color=layout.rgb("pane"),
                near=drawn,
                foot=base,
            ),
        ]


class Shadow:
    """The sun crosses the sky; the shadow of a post points away from it."""

    name = "shadow"
    domain = "optics"
    prompts = ("the sun moves to the other side", "the sun crosses the sky")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "from_left": ("swings", "fixed", "vanishes"),
        "from_right": ("swings", "fixed", "vanishes"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        return {
            "x": rng.uniform(45, 51),
            "w": rng.uniform(8.5, 10),
            "h": rng.uniform(25, 29),
            "sun": rng.uniform(30, 34),
            "y": rng.uniform(12, 16),
            "long": rng.uniform(25, 29),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {"post": pick(rng, "red", "orange", "teal", "blue", "purple", "white")}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        return {
            "sun": Thing(category="sun", color="yellow"),
            "post": Thing(category="post", color=layout.colors["post"]),
            "shadow": Thing(category="shadow", color="dark"),
        }

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return (("table", "support", "post"), ("post", "attachment", "shadow"))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout["x"] - 8, layout["x"] + 8)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        ground, x = layout.ground, layout["x"]
        start = -1.0 if variant == "from_left" else 1.0
        path = start + (-2.0 * start) * take.ramp(2, 17)
        sun_x = 48 + layout["sun"] * path
        sun_y = layout["y"] + 5 * path**2
        direction = -path if outcome == "swings" else -start + 0 * path
        fade = take.ramp(4, 14) if outcome == "vanishes" else 0.0
        reach = (layout["long"] + take.nudge * take.ramp(2, 17)) * direction
        foot = x + 0.5 * layout["w"] * np.sign(direction)
        half = np.maximum(np.abs(reach) / 2, 2.5)
        return [
            sprite("sun", layout, x=sun_x, y=sun_y, w=13, h=13, near=0.06, grounded=False),
            sprite(
                "shadow",
                layout,
                x=foot + np.sign(direction) * half,
                y=ground + 0.5 + 0 * reach,
                w=2 * half,
                h=8.5,
                alpha=1.0 - fade,
                near=layout.near - 0.01,
                grounded=False,
            ),
            sprite(
                "post",
                layout,
                kind="box",
                x=x,
                base=ground,
                w=layout["w"],
                h=layout["h"],
                color=layout.rgb("post"),
            ),
        ]


PHENOMENA: tuple[Phenomenon, ...] = (Lamp(), Filter(), Shadow())
