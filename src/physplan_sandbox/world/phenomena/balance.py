"""Solid mechanics: weights on a balance, against something lighter, equal or heavier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan_sandbox.world.physics import swing
from physplan_sandbox.world.scene import Layout, Spot, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import PALETTE, Array, Sprite

#: What lies on the right pan, in units of one of the weights that are put on the left one; and what would
#: have to lie there for a wrong outcome.
MASSES = {"apple": 0.4, "twin": 1.0, "heavy": 4.0}
AS_IF = {"sinks": 0.4, "holds": 4.0, "levels": 2.0}
PUT = ((1.0, 6.0), (10.5, 16.0))  # beats in which the first and the second weight come down
HOVER_HEIGHT = 23.0  # picture height of the weights' feet before


class Balance:
    """Two weights are put on the left pan, one after the other; what lies on the right one decides when and
    whether the balance tips."""

    name = "balance"
    domain = "solid mechanics"
    prompts = ("the weights are put on the left pan", "someone puts the weights on the left pan")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "apple": ("sinks", "holds", "levels"),
        "twin": ("sinks", "holds", "levels"),
        "heavy": ("holds", "sinks", "levels"),
    }
    crowd = 4
    count = 2

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        arm = rng.uniform(28.5, 29.5)
        return {
            "x": rng.uniform(47.5, 48.5),
            "arm": arm,
            "rise": rng.uniform(6.5, 7.5),
            "beam": rng.uniform(14.5, 16),
            "rod": rng.uniform(9, 10),
            "pan_w": rng.uniform(30, 32),
            "w": rng.uniform(12.2, 13.0),
            "h": rng.uniform(13, 14),
            "big": rng.uniform(18.5, 20),
            "apple": rng.uniform(13.5, 15),
            "off": rng.uniform(7.4, 7.8),
            "side": rng.uniform(-5, 5),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {
            "weight": pick(rng, "dark", "purple", "teal", "blue"),
            "apple": pick(rng, "red", "green", "orange"),
            "balance": pick(rng, "red", "brown", "dark", "green"),
        }

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        iron = layout.colors["weight"]
        small = Thing(category="weight", color=iron, attributes={"extent": "small"})
        load = {
            "apple": Thing(category="apple", color=layout.colors["apple"]),
            "twin": small,
            "heavy": Thing(category="weight", color=iron, attributes={"extent": "large"}),
        }
        return {
            "balance": Thing(
                category="balance",
                color=layout.colors["balance"],
                attributes={"configuration": "tipped to the right"},
            ),
            "pan0": Thing(category="pan", color="yellow"),
            "pan1": Thing(category="pan", color="yellow"),
            "weight0": small,
            "weight1": small,
            "load": load[variant],
        }

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return (
            ("table", "support", "balance"),
            ("balance", "attachment", "pan0"),
            ("balance", "attachment", "pan1"),
            ("pan1", "support", "load"),
        )

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return ()

    def spots(self, layout: Layout, horizon: float) -> Sequence[Spot]:
        return [(x, 93.0) for x in (9.0, 28.0, 48.0, 68.0, 87.0)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        angle = self._angle(variant, outcome, layout, take)
        x, arm = layout["x"], layout["arm"]
        level = layout.ground - layout["beam"] - layout["rod"]
        dish = [level + side * arm * np.sin(angle) for side in (-1, 1)]
        pillar = layout["beam"] + 2.5
        sprites = [
            sprite("balance", layout, x=x, w=2 * arm + 4, h=pillar, level=angle, look={"beam": 2.5}, order=1),
            *(self._pan(k, layout, dish[k]) for k in range(2)),
            self._load(variant, layout, dish[1]),
        ]
        for k, (start, end) in enumerate(PUT):
            foot = HOVER_HEIGHT + (dish[0] - HOVER_HEIGHT) * take.ramp(start, end)
            sprites.append(self._weight(k, layout, foot))
        return sprites

    def _angle(self, variant: str, outcome: str, layout: Layout, take: Take) -> Array:
        """By the engine, with what lies on the pans; a wrong outcome has another mass on the right one."""
        mass = MASSES[variant] if outcome == self.variants[variant][0] else AS_IF[outcome]
        on = [take.ramp(start, end) >= 0.999 for start, end in PUT]
        torque = lambda frame: 0.25 * float(np.clip(mass - on[0][frame] - on[1][frame], -1, 1))  # noqa: E731
        limit = float(np.arcsin(layout["rise"] / layout["arm"]))
        return swing(torque, limit=limit, start=limit, pace=take.pace)

    def _pan(self, k: int, layout: Layout, dish: Array) -> Sprite:
        """The dish and its rod; on the beam's end."""
        x = layout["x"] + (2 * k - 1) * layout["arm"]
        h = layout["rod"]
        y = dish + h / 2
        color = PALETTE["yellow"]
        return sprite(
            f"pan{k}", layout, category="pan", x=x, y=y, w="pan_w", h=h, color=color, order=2, grounded=False
        )

    def _load(self, variant: str, layout: Layout, dish: Array) -> Sprite:
        category = "apple" if variant == "apple" else "weight"
        w = {"apple": layout["apple"], "twin": layout["w"], "heavy": layout["big"]}[variant]
        h = {"apple": layout["apple"], "twin": layout["h"], "heavy": layout["big"] * 1.05}[variant]
        x = layout["x"] + layout["arm"] + layout["side"]
        return sprite(
            "load", layout, category=category, x=x, base=dish + 0.6, w=w, h=h, order=3, grounded=False
        )

    def _weight(self, k: int, layout: Layout, foot: Array) -> Sprite:
        x = layout["x"] - layout["arm"] + (2 * k - 1) * layout["off"]
        base = foot + 0.6
        return sprite(
            f"weight{k}", layout, category="weight", x=x, base=base, w="w", h="h", order=3, grounded=False
        )
