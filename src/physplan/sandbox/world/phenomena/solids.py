"""Solid mechanics: things fall, tip, topple each other and roll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan.sandbox.world.physics import Body, simulate
from physplan.sandbox.world.render import FRAMES
from physplan.sandbox.world.scene import Layout, Phenomenon, Take, Thing, pick, sprite
from physplan.sandbox.world.sprites import Array, Sprite, mix

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
        r, crate, w, h = layout["r"], layout["crate"], layout["w"], layout["h"]
        x0, y0 = layout["ball"], layout["top"]
        ground = layout.ground
        walls = [
            Body(x=crate - w / 2 + 1.2, y=ground - h / 2, w=2.4, h=h),
            Body(x=crate + w / 2 - 1.2, y=ground - h / 2, w=2.4, h=h),
            Body(x=crate, y=ground - 1.2, w=w, h=2.4),
        ]
        inside = abs(x0 - crate) < w / 2
        still = np.zeros(FRAMES)
        swerve: Array = still
        if outcome == "floats":
            x: Array = x0 + still
            y: Array = y0 + 1.5 * np.sin(np.arange(FRAMES) * 0.5)
            turn: Array = still
        else:
            wanted = crate if outcome == "in_crate" else x0 if not inside else crate + layout["side"] * 34
            swerve = (wanted - x0) * take.ramp(1, 7) if abs(wanted - x0) > 3 else swerve
            fixed = walls if (outcome == "in_crate") == inside and inside else []
            floor = ground - 2.4 if outcome == "in_crate" and not fixed else ground
            body = Body(
                x=x0,
                y=y0,
                w=2 * r,
                h=2 * r,
                ball=True,
                bounce=0.75,
                drag=0.05,
                velocity=(0.25 * take.nudge, 0),
            )
            poses = simulate([body], ground=floor, fixed=fixed, start=2, pace=take.pace)[0]
            x, y, turn = poses.x + swerve, poses.y, poses.angle
        return [
            sprite("crate", layout, x=crate, base=ground, w=w, h=h, color=layout.rgb("crate")),
            sprite("ball", layout, x=x, y=y, w=2 * r, h=2 * r, angle=turn, color=layout.rgb("ball"), order=1),
        ]


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
        x0, w, h, ground = layout["x"], layout["w"], layout["h"], layout.ground
        y0 = ground - h / 2
        still: Array = np.zeros(FRAMES)
        x, y, angle = x0 + still, y0 + still, still
        stop = Body(x=layout["stop"], y=ground - layout["stop_h"] / 2, w=layout["stop_w"], h=layout["stop_h"])
        reach = layout["stop"] - layout["stop_w"] / 2 - w / 2 - x0
        if outcome == "tips" and variant == "tall":
            body = Body(x=x0, y=y0, w=w, h=h, friction=1.0)
            push = lambda b: b[0].apply_impulse_at_local_point((2.4 + 0.15 * take.nudge, 0), (0, -h / 2))  # noqa: E731
            pose = simulate([body], ground=ground, fixed=[stop], start=2, push=push, pace=take.pace)[0]
            x, y, angle = pose.x, pose.y, pose.angle
        elif outcome == "tips":
            angle = 0.5 * np.pi * take.ramp(2, 10)
            x = x0 + w / 2 - (w / 2) * np.cos(angle) + (h / 2) * np.sin(angle)
            y = ground - (w / 2) * np.sin(angle) - (h / 2) * np.cos(angle)
        elif outcome == "slides" and variant == "squat":
            body = Body(x=x0, y=y0, w=w, h=h, friction=0.08, velocity=(5.2 + 0.2 * take.nudge, 0), drag=0.02)
            pose = simulate([body], ground=ground, fixed=[stop], start=2, pace=take.pace)[0]
            x = np.minimum(pose.x, x0 + reach)
        elif outcome == "slides":
            x = x0 + reach * take.ramp(2, 12)
        return [
            sprite(
                "book",
                layout,
                x=layout["stop"],
                base=ground,
                w=layout["stop_w"],
                h=layout["stop_h"],
                color=layout.rgb("book"),
            ),
            sprite("block", layout, x=x, y=y, w=w, h=h, angle=angle, color=layout.rgb("block"), order=1),
        ]


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
        w, h, ground = layout["w"], layout["h"], layout.ground
        xs = [layout[f"x{k}"] for k in range(self.count)]
        falling = {"all_fall": [0, 1, 2, 3], "two_fall": [0, 1], "stay": []}[outcome]
        # Implausible outcomes close the gap or widen it for the engine and are drawn where the pieces stand.
        step = xs[1] - xs[0]
        solved = [xs[0] + k * step for k in range(len(falling))]
        poses = {}
        if falling:
            bodies = [Body(x=x, y=ground - h / 2, w=w, h=h, friction=0.45, bounce=0.02) for x in solved]
            push = lambda b: b[0].apply_impulse_at_local_point((1.7 + 0.1 * take.nudge, 0), (0, -h / 2))  # noqa: E731
            moved = simulate(bodies, ground=ground, start=2, push=push, pace=0.9 * take.pace)
            poses = dict(zip(falling, moved, strict=True))
        sprites = []
        for k, x0 in enumerate(xs):
            pose = poses.get(k)
            x = x0 if pose is None else pose.x - solved[k] + x0
            y = ground - h / 2 if pose is None else pose.y
            angle = 0.0 if pose is None else pose.angle
            key = f"domino{k}"
            sprites.append(
                sprite(
                    key,
                    layout,
                    category="domino",
                    x=x,
                    y=y,
                    w=w,
                    h=h,
                    angle=angle,
                    color=layout.rgb("domino"),
                    order=-k,
                )
            )
        return sprites


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
        r, edge, ground = layout["r"], layout["edge"], layout.ground
        top = ground - layout["height"]
        x0, y0 = layout["x"], top - r
        stopper = layout["stop_w"] if variant == "stopper" else 0.0
        if outcome == "falls":
            shelf = Body(x=edge / 2 - 4, y=(top + ground) / 2, w=edge + 8, h=layout["height"])
            speed = 4.2 + 0.12 * take.nudge
            body = Body(x=x0, y=y0, w=2 * r, h=2 * r, ball=True, bounce=0.45, velocity=(speed, 0), drag=0.02)
            pose = simulate([body], ground=ground, fixed=[shelf], start=2, pace=take.pace)[0]
            landed = np.maximum.accumulate((pose.y > ground - r - 1.0).astype(np.float32))
            first = int(np.argmax(landed)) if landed.any() else FRAMES - 1
            stop_x = pose.x[first] + 7.0
            ease = 1.0 - np.exp(-np.maximum(np.arange(FRAMES) - first, 0) / 2.5)
            x: Array = np.where(landed > 0, pose.x[first] + (stop_x - pose.x[first]) * ease, pose.x)
            y = pose.y
        else:
            end = edge - stopper - r if outcome == "stops" else 84.0
            if outcome == "stops" and not stopper:
                end = edge - r * 0.6
            x = mix(x0, end, take.ramp(1, 11))
            y = y0 + np.zeros(FRAMES)
        turn = (x - x0) / r
        sprites = [
            sprite(
                "shelf",
                layout,
                kind="box",
                x=edge / 2 - 4,
                base=ground,
                w=edge + 8,
                h=layout["height"],
                color=layout.rgb("shelf"),
            ),
            sprite("ball", layout, x=x, y=y, w=2 * r, h=2 * r, angle=turn, color=layout.rgb("ball"), order=1),
        ]
        if stopper:
            sprites.append(
                sprite(
                    "stopper",
                    layout,
                    kind="box",
                    x=edge - stopper / 2 - 0.3,
                    base=top,
                    w=stopper,
                    h=layout["stop_h"],
                    color=layout.rgb("stopper"),
                    order=2,
                    grounded=False,
                )
            )
        return sprites


PHENOMENA: tuple[Phenomenon, ...] = (Drop(), Push(), Dominoes(), Roll())
