"""Solid mechanics: a push that goes through a row of touching balls and shows at its far end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan_sandbox.world.physics import Body, Poses, round_body, simulate
from physplan_sandbox.world.render import FRAMES
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import Sprite

START, SPEED = 3.0, 3.4  # the beat at which the ball begins to roll, and how far it goes in a beat
PACE_FACTOR = 1.5
BALL_GAP = 0.25  # between touching balls, so that the engine hands the push on from one to the next


class Marbles:
    """A ball rolls into a row of three: the last one leaves and drops into a crate or rolls to a book; with a
    stopper behind the row nothing leaves and the ball comes back."""

    name = "marbles"
    domain = "solid mechanics"
    prompts = ("the ball rolls into the row of balls", "the single ball hits the row of balls")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "crate": ("drops", "stays", "passes"),
        "book": ("reaches", "stays", "passes"),
        "held": ("returns", "leaves", "passes"),
    }
    crowd = 5
    count = 3

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        r, x = rng.uniform(6.1, 6.4), rng.uniform(7.6, 8.6)
        edge = rng.uniform(71.0, 72.0) if variant == "held" else rng.uniform(65.5, 66.5)
        stop_w = rng.uniform(5.6, 6.2)
        last = edge - r - (stop_w + BALL_GAP if variant == "held" else rng.uniform(1.2, 2.0))
        if variant == "book":
            r = rng.uniform(6.4, 6.9)
            last = rng.uniform(60, 61.5)
        room = 96 - edge - 4.0
        row = {f"x{k}": last - (self.count - 1 - k) * (2 * r + BALL_GAP) for k in range(self.count)}
        return {
            "r": r,
            "x": x,
            **row,
            "edge": edge,
            "height": rng.uniform(20, 22),
            "stop_w": stop_w,
            "stop_h": rng.uniform(14, 16),
            "crate": edge + 3.0 + room / 2,
            "crate_w": room,
            "crate_h": rng.uniform(14, 16),
            "book": rng.uniform(90, 91),
            "book_w": rng.uniform(8, 9.5),
            "book_h": rng.uniform(22, 25),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        ball, row, other = rng.choice(
            ["red", "orange", "yellow", "green", "teal", "blue", "pink"], 3, replace=False
        )
        shelf = pick(rng, "grey", "purple")
        return {"ball": str(ball), "row": str(row), "stopper": str(other), "book": str(other), "shelf": shelf}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        things = {"ball": Thing(category="ball", color=layout.colors["ball"])}
        for k in range(self.count):
            things[f"marble{k}"] = Thing(category="ball", color=layout.colors["row"])
        if variant == "book":
            things["book"] = Thing(category="book", color=layout.colors["book"])
            return things
        things["shelf"] = Thing(category="shelf", color=layout.colors["shelf"])
        things["crate"] = Thing(category="crate", color="brown", attributes={"configuration": "open"})
        if variant == "held":
            things["stopper"] = Thing(category="stopper", color=layout.colors["stopper"])
        return things

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        under = "table" if variant == "book" else "shelf"
        balls = ["ball", *(f"marble{k}" for k in range(self.count))]
        found = [(under, "support", key) for key in balls]
        found += [
            ("table", "support", key) for key in (("book",) if variant == "book" else ("shelf", "crate"))
        ]
        return (*found, *([("shelf", "support", "stopper")] if variant == "held" else []))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        if variant == "book":
            return [(layout["book"] - 5, 96)]
        return [(0, layout["edge"] + 2)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        poses = self._poses(variant, outcome, layout, take)
        starts = [layout["x"], *(layout[f"x{k}"] for k in range(self.count))]
        names = ["ball", *(f"marble{k}" for k in range(self.count))]
        balls = [
            sprite(
                key,
                layout,
                category="ball",
                x=pose.x,
                y=pose.y,
                w=2 * layout["r"],
                h=2 * layout["r"],
                angle=(np.asarray(pose.x) - start) / layout["r"],
                color=layout.rgb("ball" if key == "ball" else "row"),
                order=2 if key == "ball" else 1,
            )
            for key, pose, start in zip(names, poses, starts, strict=True)
        ]
        return [*self._furniture(variant, layout), *balls]

    def _poses(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Poses]:
        """By the engine: the whole row for what is true, the ball alone where it goes through the others or
        where they do not take the push."""
        row = [layout[f"x{k}"] for k in range(self.count)]
        top = self._top(variant, layout)
        still = [Poses(x, top - layout["r"], 0.0) for x in row]
        alone = outcome in ("stays", "passes")
        speed = SPEED + 0.1 * take.nudge
        moving = [self._body(outcome, layout, layout["x"], speed, top)]
        if not alone:
            moving += [self._body(outcome, layout, x, 0.0, top) for x in row]
        fixed = self._fixed(variant, outcome, layout)
        frames = 2 * FRAMES if outcome == "passes" else FRAMES
        poses = simulate(
            moving, ground=layout.ground, fixed=fixed, start=START, pace=take.pace, frames=frames
        )
        meets = row[0] - 2 * layout["r"] - BALL_GAP
        if outcome == "stays":
            poses = [Poses(np.minimum(poses[0].x, meets), top - layout["r"], 0.0)]
        elif outcome == "passes":
            poses = [self._hurried(poses[0], meets)]
        if variant == "book":
            # What meets the book stays there.
            poses[-1] = Poses(np.maximum.accumulate(poses[-1].x), poses[-1].y, 0.0)
        return [*poses, *still] if alone else poses

    def _hurried(self, pose: Poses, meets: float) -> Poses:
        """A ball that goes through the row does so faster, to be seen at its end before the clip is over."""
        before = np.argmax(np.asarray(pose.x) >= meets)
        shown, solved = np.arange(FRAMES), np.arange(len(pose.x))
        when = np.where(shown < before, shown, before + PACE_FACTOR * (shown - before))
        return Poses(np.interp(when, solved, pose.x), np.interp(when, solved, pose.y), 0.0)

    def _body(self, outcome: str, layout: Layout, x: float, speed: float, top: float) -> Body:
        """Without friction, so that a ball hands all of its speed on; it is drawn as if it rolled."""
        r = layout["r"]
        drag = 0.06 if outcome == "returns" and speed else 0.004
        return round_body(x, top - r, r, friction=0.0, bounce=1.0, velocity=(speed, 0), drag=drag)

    def _top(self, variant: str, layout: Layout) -> float:
        return layout.ground - (0.0 if variant == "book" else layout["height"])

    def _fixed(self, variant: str, outcome: str, layout: Layout) -> list[Body]:
        ground = layout.ground
        if variant == "book":
            h = layout["book_h"]
            return [Body(x=layout["book"], y=ground - h / 2, w=layout["book_w"], h=h, bounce=0.1)]
        edge, height, crate, w = layout["edge"], layout["height"], layout["crate"], layout["crate_w"]
        fixed = [
            Body(x=edge / 2 - 20, y=ground - height / 2, w=edge + 40, h=height, bounce=0.0),
            Body(x=crate - w / 2 + 1.2, y=ground - layout["crate_h"] / 2, w=2.4, h=layout["crate_h"]),
            Body(x=crate + w / 2 - 1.2, y=ground - layout["crate_h"] / 2, w=2.4, h=layout["crate_h"]),
            Body(x=crate, y=ground - 1.2, w=w, h=2.4, bounce=0.3),
            Body(x=98, y=ground - 40, w=4, h=80),  # nothing leaves the picture
        ]
        if variant == "held" and outcome == "returns":
            w, h = layout["stop_w"], layout["stop_h"]
            fixed.append(Body(x=edge - w / 2, y=ground - height - h / 2, w=w, h=h, bounce=0.3))
        return fixed

    def _furniture(self, variant: str, layout: Layout) -> list[Sprite]:
        if variant == "book":
            w, h = layout["book_w"], layout["book_h"]
            return [sprite("book", layout, x="book", w=w, h=h)]
        edge, height = layout["edge"], layout["height"]
        found = [
            sprite("shelf", layout, kind="box", x=edge / 2 - 4, w=edge + 8, h=height),
            sprite("crate", layout, x="crate", w="crate_w", h="crate_h", color=(0.56, 0.37, 0.22)),
        ]
        if variant == "held":
            found.append(
                sprite(
                    "stopper",
                    layout,
                    kind="box",
                    x=edge - layout["stop_w"] / 2,
                    base=layout.ground - height,
                    w="stop_w",
                    h="stop_h",
                    grounded=False,
                )
            )
        return found
