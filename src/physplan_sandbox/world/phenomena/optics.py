"""Optics: light falls where the lamp faces, colour comes from what is in front, shadows point away from the
sun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan_sandbox.world.phenomena.parts import shown, sun
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import Array, Sprite, Value, mix

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
        on = take.ramp(3, 8)
        toward = {"lights_left": -1.0, "lights_right": 1.0, "glows": 0.0}[outcome]
        sprites = [self._lamp(variant, layout, on)]
        for key, side, sign in (("vase0", "left", -1.0), ("vase1", "right", 1.0)):
            lit = on * (1.0 + 0.04 * take.nudge) if sign == toward else 0.0
            sprites.append(self._vase(key, side, layout, lit))
        if toward:
            sprites.append(self._beam(layout, toward, on))
        return sprites

    def _lamp(self, variant: str, layout: Layout, on: Array) -> Sprite:
        return sprite(
            "lamp",
            layout,
            x="x",
            w=15,
            h="tall",
            level=on,
            look={"facing": -1.0 if variant == "left" else 1.0},
            order=3,
        )

    def _vase(self, key: str, side: str, layout: Layout, lit: Value) -> Sprite:
        x = layout[side]
        return sprite(
            key, layout, category="vase", x=x, w="w", h="h", level=lit, color=layout.rgb(side), order=1
        )

    def _beam(self, layout: Layout, toward: float, on: Array) -> Sprite:
        top, bottom = layout.ground - layout["tall"] * 0.80, layout.ground + 1
        width = 36.0
        return sprite(
            "beam",
            layout,
            x=layout["x"] + toward * (7 + width / 2),
            y=(top + bottom) / 2,
            w=width,
            h=bottom - top,
            level=on,
            look={"facing": toward},
            alpha=shown(on > 0.01),
            order=0,
            grounded=False,
        )


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
        vase = sprite("vase0", layout, category="vase", x="vase", w="w", h="h")
        return [vase, self._pane(variant, outcome, layout, take)]

    def _pane(self, variant: str, outcome: str, layout: Layout, take: Take) -> Sprite:
        """It slides on its track, near or far, and is drawn where the outcome has it."""
        base = layout.ground + 7.0 if variant == "near" else layout.ground - 7.0
        step = 7.0 * 0.75 / 51.0
        near = layout.near + (step if variant == "near" else -step)
        end: Value = layout["vase"] + take.nudge
        if outcome == "in_front":
            near = max(near, layout.near + 0.01)
        elif outcome == "behind":
            near = min(near, layout.near - 0.01)
        else:
            end = mix(layout["pane"], layout["vase"], 0.30)
        x = mix(layout["pane"], end, take.ramp(1, 14))
        return sprite("pane", layout, x=x, base=base, w="pane_w", h="pane_h", near=near, foot=base)


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
        start = -1.0 if variant == "from_left" else 1.0
        path = start + (-2.0 * start) * take.ramp(2, 17)
        direction = -path if outcome == "swings" else -start + 0 * path
        fade = take.ramp(4, 14) if outcome == "vanishes" else 0.0
        return [
            sun(layout, x=48 + layout["sun"] * path, y=layout["y"] + 5 * path**2),
            self._shadow(layout, take, direction, alpha=1.0 - fade),
            sprite("post", layout, kind="box", x="x", w="w", h="h"),
        ]

    def _shadow(self, layout: Layout, take: Take, direction: Array, *, alpha: Value) -> Sprite:
        """From the foot of the post, to the left for -1 and to the right for 1."""
        reach = (layout["long"] + take.nudge * take.ramp(2, 17)) * direction
        foot = layout["x"] + 0.5 * layout["w"] * np.sign(direction)
        half = np.maximum(np.abs(reach) / 2, 2.5)
        w = 2 * half
        x, y = foot + np.sign(direction) * half, layout.ground + 0.5
        return sprite(
            "shadow", layout, x=x, y=y, w=w, h=8.5, alpha=alpha, near=layout.near - 0.01, grounded=False
        )
