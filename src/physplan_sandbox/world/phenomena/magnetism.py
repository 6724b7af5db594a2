"""Magnetism: a magnet draws iron, not wood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan_sandbox.world.render import FRAMES
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import Sprite


class Magnet:
    """A magnet comes down over a nail, which jumps to it, or over a wooden peg, which stays."""

    name = "magnet"
    domain = "magnetism"
    prompts = ("the magnet comes down", "someone lowers the magnet")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "nail": ("jumps", "stays", "flees"),
        "peg": ("stays", "jumps", "flees"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        return {
            "x": rng.uniform(40, 56),
            "item": rng.uniform(-2, 2),
            "side": float(rng.choice([-1, 1])),
            "top": rng.uniform(16, 18),
            "down": rng.uniform(20, 22),
            "size": rng.uniform(25, 28),
            "w": rng.uniform(24, 27),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {"magnet": pick(rng, "red", "blue", "green")}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        item = (
            Thing(category="nail", color="grey")
            if variant == "nail"
            else Thing(category="peg", color="brown")
        )
        return {"magnet": Thing(category="magnet", color=layout.colors["magnet"]), "item": item}

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return (("table", "support", "item"),)

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout["x"] - 15, layout["x"] + 15)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        ground, x, size = layout.ground, layout["x"], layout["size"]
        h = 9.0 if variant == "nail" else 9.5
        lower = take.ramp(1, 12)
        magnet_y = layout["top"] + layout["down"] * lower
        item_x = x + layout["item"] + np.zeros(FRAMES)
        item_y = ground - h / 2 + np.zeros(FRAMES)
        if outcome == "jumps":
            jump = take.ramp(9, 13) ** 1.5
            touching = magnet_y + size / 2 + h * 0.35
            item_y = item_y + (touching - item_y) * jump
            item_x = item_x + (x - item_x) * jump
        elif outcome == "flees":
            away = 1.0 if layout["x"] < 48 else -1.0
            item_x = item_x + away * (25 + take.nudge) * take.ramp(9, 15)
        return [
            sprite(
                "magnet", layout, x=x + 0.4 * take.nudge * lower, y=magnet_y, w=size * 0.92, h=size, order=1
            ),
            sprite(
                "item",
                layout,
                category=variant,
                x=item_x,
                y=item_y,
                w="w",
                h=h,
                color=(0.6, 0.6, 0.6),
                order=2,
            ),
        ]
