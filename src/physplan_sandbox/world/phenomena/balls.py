"""Solid mechanics: a ball falls or rolls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from physplan_sandbox.world.phenomena.parts import crate_walls
from physplan_sandbox.world.physics import Body, Poses, round_body, simulate
from physplan_sandbox.world.render import FRAME_BEATS, FRAMES
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import Array, Sprite, Value, mix

BALLS = ("red", "orange", "yellow", "green", "teal", "blue", "purple", "pink")


class Drop:
    """A ball let go: it ends in the crate below it, or on the table."""

    name = "drop"
    domain = "solid mechanics"
    prompts = ("the ball drops", "the ball falls down", "someone lets go of the ball")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "crate": ("in_crate", "on_table", "floats"),
        "table": ("on_table", "in_crate", "floats"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        side = float(rng.choice([-1, 1]))
        crate = 48 - side * rng.uniform(14, 19)
        ball = crate + rng.uniform(-2, 2) if variant == "crate" else crate + side * rng.uniform(33, 37)
        return {
            "crate": crate,
            "ball": ball,
            "side": side,
            "r": rng.uniform(7.4, 8.8),
            "top": rng.uniform(17, 22),
            "w": rng.uniform(31, 35),
            "h": rng.uniform(19, 22),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {"ball": pick(rng, *BALLS), "crate": "brown"}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        return {
            "ball": Thing(category="ball", color=layout.colors["ball"]),
            "crate": Thing(category="crate", color="brown", attributes={"configuration": "open"}),
        }

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        return (("table", "support", "crate"),)

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(layout["crate"] - 18, layout["crate"] + 18), (layout["ball"] - 8, layout["ball"] + 8)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        pose = self._hovering(layout) if outcome == "floats" else self._falling(outcome, layout, take)
        w, h = layout["w"], layout["h"]
        return [sprite("crate", layout, x="crate", w=w, h=h), _ball(layout, pose)]

    def _hovering(self, layout: Layout) -> Poses:
        still = np.zeros(FRAMES)
        return Poses(layout["ball"] + still, layout["top"] + 1.5 * np.sin(FRAME_BEATS * 0.5), still)

    def _falling(self, outcome: str, layout: Layout, take: Take) -> Poses:
        """Straight down by the engine; a wrong outcome swerves on the way."""
        x, r, crate, ground = layout["ball"], layout["r"], layout["crate"], layout.ground
        above_crate = abs(x - crate) < layout["w"] / 2
        into_crate = outcome == "in_crate"
        end = crate if into_crate else crate + layout["side"] * 34 if above_crate else x
        swerve = (end - x) * take.ramp(1, 7) if abs(end - x) > 3 else 0.0
        walls = crate_walls(layout, x=crate, w=layout["w"], h=layout["h"])
        fixed = walls if into_crate and above_crate else []
        floor = ground - 2.4 if into_crate and not above_crate else ground
        velocity = (0.25 * take.nudge, 0)
        body = round_body(x, layout["top"], r, bounce=0.75, drag=0.05, velocity=velocity)
        pose = simulate([body], ground=floor, fixed=fixed, start=2, pace=take.pace)[0]
        return Poses(pose.x + swerve, pose.y, pose.angle)


class Roll:
    """A ball rolls along a shelf: over the edge and down to the table, or against the stopper at the edge."""

    name = "roll"
    domain = "solid mechanics"
    prompts = ("the ball rolls to the right", "the ball starts to roll to the right")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "edge": ("falls", "stops", "hovers"),
        "stopper": ("stops", "falls", "hovers"),
    }

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        return {
            "edge": rng.uniform(42, 47),
            "height": rng.uniform(19, 23),
            "r": rng.uniform(7.0, 8.2),
            "x": rng.uniform(11, 15),
            "stop_w": rng.uniform(6.0, 7.0),
            "stop_h": rng.uniform(12, 14),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        ball, stopper = rng.choice(["red", "orange", "yellow", "teal", "blue", "pink"], 2, replace=False)
        return {"ball": str(ball), "stopper": str(stopper), "shelf": pick(rng, "grey", "purple", "green")}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        things = {
            "ball": Thing(category="ball", color=layout.colors["ball"]),
            "shelf": Thing(category="shelf", color=layout.colors["shelf"]),
        }
        if variant == "stopper":
            things["stopper"] = Thing(category="stopper", color=layout.colors["stopper"])
        return things

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        found = (("table", "support", "shelf"), ("shelf", "support", "ball"))
        return (*found, ("shelf", "support", "stopper")) if variant == "stopper" else found

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return [(0, layout["edge"] + 4)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        edge, height = layout["edge"], layout["height"]
        if outcome == "falls":
            x, y = self._falling(layout, take)
        else:
            x, y = self._rolling(variant, outcome, layout, take)
        sprites = [
            sprite("shelf", layout, kind="box", x=edge / 2 - 4, w=edge + 8, h=height),
            _ball(layout, Poses(x, y, (x - layout["x"]) / layout["r"])),
        ]
        if variant == "stopper":
            sprites.append(self._stopper(layout))
        return sprites

    def _falling(self, layout: Layout, take: Take) -> tuple[Array, Value]:
        """Over the edge by the engine; once on the table it rolls out after a short way."""
        r, edge, ground, height = layout["r"], layout["edge"], layout.ground, layout["height"]
        top = ground - height
        shelf = Body(x=edge / 2 - 4, y=(top + ground) / 2, w=edge + 8, h=height)
        velocity = (4.2 + 0.12 * take.nudge, 0)
        body = round_body(layout["x"], top - r, r, bounce=0.45, velocity=velocity, drag=0.02)
        pose = simulate([body], ground=ground, fixed=[shelf], start=2, pace=take.pace)[0]
        landed = np.maximum.accumulate((pose.y > ground - r - 1.0).astype(np.float32))
        first = int(np.argmax(landed)) if landed.any() else FRAMES - 1
        stop_x = pose.x[first] + 7.0
        ease = 1.0 - np.exp(-np.maximum(FRAME_BEATS - FRAME_BEATS[first], 0) / 2.5)
        x = np.where(landed > 0, pose.x[first] + (stop_x - pose.x[first]) * ease, pose.x)
        return x, pose.y

    def _rolling(self, variant: str, outcome: str, layout: Layout, take: Take) -> tuple[Array, Value]:
        """To the stopper, or to the edge where there is none, or (`hovers`) on through the air."""
        edge, r = layout["edge"], layout["r"]
        if outcome == "hovers":
            end = 84.0
        elif variant == "stopper":
            end = edge - layout["stop_w"] - r
        else:
            end = edge - r * 0.6
        return mix(layout["x"], end, take.ramp(1, 11)), layout.ground - layout["height"] - r

    def _stopper(self, layout: Layout) -> Sprite:
        x, base = layout["edge"] - layout["stop_w"] / 2 - 0.3, layout.ground - layout["height"]
        on: dict[str, Any] = {"x": x, "base": base, "order": 2, "grounded": False}
        return sprite("stopper", layout, kind="box", w="stop_w", h="stop_h", **on)


def _ball(layout: Layout, pose: Poses) -> Sprite:
    d = 2 * layout["r"]
    return sprite("ball", layout, at=pose, w=d, h=d, order=1)
