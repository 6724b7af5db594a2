"""Solid mechanics: blocks tip, slide and topple each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import pymunk

from physplan_sandbox.world.physics import Body, Poses, simulate
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import Array, Sprite


class Push:
    """A push against a block: a tall one tips over, a squat one slides until something stops it."""

    name = "push"
    domain = "solid mechanics"
    prompts = ("the block is pushed from the left", "someone pushes the block from the left")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "tall": ("tips", "slides", "stays"),
        "squat": ("slides", "tips", "stays"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        tall = variant == "tall"
        return {
            "x": rng.uniform(20, 24) if tall else rng.uniform(18, 23),
            "w": rng.uniform(11, 13) if tall else rng.uniform(23, 27),
            "h": rng.uniform(30, 33) if tall else rng.uniform(14, 16),
            "stop": rng.uniform(76, 81),
            "stop_w": rng.uniform(8, 10),
            "stop_h": rng.uniform(25, 29),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        block, book = rng.choice(["red", "orange", "green", "teal", "blue", "purple"], 2, replace=False)
        return {"block": str(block), "book": str(book)}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        shape = {"extent": "tall"} if variant == "tall" else {"extent": "low"}
        return {
            "block": Thing(category="block", color=layout.colors["block"], attributes=shape),
            "book": Thing(category="book", color=layout.colors["book"]),
        }

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return (("table", "support", "block"), ("table", "support", "book"))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout["x"] - 7, layout["x"] + 7), (layout["stop"] - 6, layout["stop"] + 6)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        if outcome == "tips":
            pose = self._tipping(variant, layout, take)
        else:
            x = self._sliding(variant, layout, take) if outcome == "slides" else layout["x"]
            pose = Poses(x, layout.ground - layout["h"] / 2, 0.0)
        return [
            sprite("book", layout, x="stop", w="stop_w", h="stop_h"),
            sprite("block", layout, at=pose, w="w", h="h", order=1),
        ]

    def _tipping(self, variant: str, layout: Layout, take: Take) -> Poses:
        """By the engine where it can happen, else about the lower right corner."""
        x, w, h, ground = layout["x"], layout["w"], layout["h"], layout.ground
        if variant == "tall":
            body = Body(x=x, y=ground - h / 2, w=w, h=h, friction=1.0)
            push = knock(2.4 + 0.15 * take.nudge, h)
            fixed = [self._stop(layout)]
            return simulate([body], ground=ground, fixed=fixed, start=2, push=push, pace=take.pace)[0]
        angle = 0.5 * np.pi * take.ramp(2, 10)
        return Poses(
            x + w / 2 - (w / 2) * np.cos(angle) + (h / 2) * np.sin(angle),
            ground - (w / 2) * np.sin(angle) - (h / 2) * np.cos(angle),
            angle,
        )

    def _sliding(self, variant: str, layout: Layout, take: Take) -> Array:
        """Where it is on its way to the book."""
        x, w, h, ground = layout["x"], layout["w"], layout["h"], layout.ground
        reach = layout["stop"] - layout["stop_w"] / 2 - w / 2 - x
        if variant == "tall":
            return x + reach * take.ramp(2, 12)
        velocity = (5.2 + 0.2 * take.nudge, 0)
        body = Body(x=x, y=ground - h / 2, w=w, h=h, friction=0.08, velocity=velocity, drag=0.02)
        pose = simulate([body], ground=ground, fixed=[self._stop(layout)], start=2, pace=take.pace)[0]
        return np.minimum(pose.x, x + reach)

    def _stop(self, layout: Layout) -> Body:
        w, h = layout["stop_w"], layout["stop_h"]
        return Body(x=layout["stop"], y=layout.ground - h / 2, w=w, h=h)


class Dominoes:
    """A row of dominoes: the fall runs to the end of the row, or to the first gap that is too wide."""

    name = "dominoes"
    domain = "solid mechanics"
    prompts = ("the first domino is tipped over", "someone tips the first domino")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "row": ("all_fall", "two_fall", "stay"),
        "gap": ("two_fall", "all_fall", "stay"),
    }
    count = 4

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        h, step = rng.uniform(20.5, 22.5), rng.uniform(12.2, 13.2)
        x = rng.uniform(9, 12)
        gap = 0.0 if variant == "row" else rng.uniform(16, 18)
        places = {f"x{k}": x + k * step + (gap if k >= 2 else 0.0) for k in range(self.count)}
        return {"w": rng.uniform(5.8, 6.6), "h": h, **places}

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {"domino": pick(rng, "white", "yellow", "teal", "pink", "orange", "blue")}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        return {
            f"domino{k}": Thing(category="domino", color=layout.colors["domino"]) for k in range(self.count)
        }

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return tuple(("table", "support", f"domino{k}") for k in range(self.count))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout["x0"] - 4, layout["x1"] + 4), (layout["x2"] - 4, layout["x3"] + 4)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        falling = {"all_fall": 4, "two_fall": 2, "stay": 0}[outcome]
        poses = self._falling(falling, layout, take)
        standing = [
            Poses(layout[f"x{k}"], layout.ground - layout["h"] / 2, 0.0) for k in range(falling, self.count)
        ]
        return [
            sprite(f"domino{k}", layout, category="domino", at=pose, w="w", h="h", order=-k)
            for k, pose in enumerate([*poses, *standing])
        ]

    def _falling(self, count: int, layout: Layout, take: Take) -> list[Poses]:
        """The first `count` of the row fall. For the engine they stand without a gap, so that a wrong outcome
        can be had too; they are drawn where they stand."""
        if not count:
            return []
        w, h, ground = layout["w"], layout["h"], layout.ground
        drawn = [layout[f"x{k}"] for k in range(count)]
        solved = [drawn[0] + k * (drawn[1] - drawn[0]) for k in range(count)]
        bodies = [Body(x=x, y=ground - h / 2, w=w, h=h, friction=0.45, bounce=0.02) for x in solved]
        push = knock(1.7 + 0.1 * take.nudge, h)
        poses = simulate(bodies, ground=ground, start=2, push=push, pace=0.9 * take.pace)
        return [
            Poses(pose.x - there + here, pose.y, pose.angle)
            for pose, there, here in zip(poses, solved, drawn, strict=True)
        ]


def knock(strength: float, h: float) -> Callable[[list[pymunk.Body]], None]:
    """A push to the right against the top of the first body."""

    def push(bodies: list[pymunk.Body]) -> None:
        bodies[0].apply_impulse_at_local_point((strength, 0), (0, -h / 2))

    return push
