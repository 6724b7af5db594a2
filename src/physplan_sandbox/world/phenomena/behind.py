"""Solid mechanics out of sight: a ball rolls behind a carton, and what is there decides what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan_sandbox.world.phenomena.balls import BALLS
from physplan_sandbox.world.physics import Body, round_body, simulate, standing
from physplan_sandbox.world.scene import Layout, Take, Thing, pick, sprite
from physplan_sandbox.world.sprites import Array, Sprite

BACK, FRONT = 7.0, 4.0  # the ball's line is behind the main line, the carton stands before it


class Behind:
    """A ball rolls behind a carton: it comes out again and stops at a book, or stays behind, stopped by the
    book; or it hits a ball like itself, which comes out in its place."""

    name = "behind"
    domain = "solid mechanics"
    prompts = ("the ball rolls behind the carton", "the ball rolls along behind the box")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "through": ("passes", "stays", "returns"),
        "stopped": ("stays", "passes", "returns"),
        "twins": ("swaps", "passes", "stays"),
    }
    crowd = 5

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        r, x = rng.uniform(7.2, 8.0), rng.uniform(9.5, 11.0)
        left, w = x + r + rng.uniform(4.0, 7.0), rng.uniform(28, 30)
        right = left + w
        book_w = rng.uniform(12.5, 13.5) if variant == "stopped" else rng.uniform(8.5, 10)
        return {
            "r": r,
            "x": x,
            "carton": left + w / 2,
            "carton_w": w,
            "carton_h": BACK + FRONT + 2 * r + rng.uniform(2.5, 4.0),
            "book": right + 1.5 if variant == "stopped" else rng.uniform(87.5, 89.5),
            "book_w": book_w,
            "book_h": rng.uniform(29, 31) if variant == "stopped" else rng.uniform(23, 26),
            "twin": right - 1.0,
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        ball, book = rng.choice([b for b in BALLS if b != "orange"], 2, replace=False)
        return {"ball": str(ball), "book": str(book), "carton": pick(rng, "brown", "orange")}

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        things = {
            "ball": Thing(category="ball", color=layout.colors["ball"]),
            "carton": Thing(category="carton", color=layout.colors["carton"]),
            "book": Thing(category="book", color=layout.colors["book"]),
        }
        if variant == "twins":
            things["twin"] = Thing(category="ball", color=layout.colors["ball"])
        return things

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        keys = ("ball", "carton", "book", *(("twin",) if variant == "twins" else ()))
        return tuple(("table", "support", key) for key in keys)

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        half, book = layout["carton_w"] / 2, layout["book_w"] / 2 + 1
        return [
            (layout["x"] - 8, layout["x"] + 8),
            (layout["carton"] - half, layout["carton"] + half),
            (layout["book"] - book, layout["book"] + book),
        ]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        path = self._path(variant, outcome, layout, take)
        line = layout.ground - BACK
        w, h = layout["carton_w"], layout["carton_h"]
        front = layout.ground + FRONT
        sprites = [
            sprite("book", layout, x="book", base=line, near=_near(layout, line), w="book_w", h="book_h"),
            self._ball("ball", layout, path["ball"], layout["x"]),
            sprite("carton", layout, x="carton", base=front, near=_near(layout, front), w=w, h=h),
        ]
        if variant == "twins":
            sprites.append(self._ball("twin", layout, path["twin"], layout["twin"]))
        return sprites

    def _path(self, variant: str, outcome: str, layout: Layout, take: Take) -> dict[str, Array]:
        """Where ball and twin are, by the engine; wrong outcomes lack or invent something on the way."""
        with_twin = variant == "twins" and outcome == "swaps"
        book = variant != "stopped" or outcome == "stays"
        keys, bodies = ["ball"], [self._body(layout, layout["x"], 3.9 + 0.1 * take.nudge)]
        if with_twin:
            keys, bodies = [*keys, "twin"], [*bodies, self._body(layout, layout["twin"], 0.0)]
        line = layout.ground - BACK
        stop = standing(layout["book"], line, layout["book_w"], layout["book_h"], bounce=0.1)
        end = standing(97, line, 14, 30, bounce=0.1)  # a wrong ball stays in the picture
        poses = simulate(bodies, ground=line, fixed=[stop if book else end], start=2, pace=take.pace)
        # What meets the book stays there.
        path = {key: np.maximum.accumulate(pose.x) for key, pose in zip(keys, poses, strict=True)}
        path.setdefault("twin", np.full_like(path["ball"], layout["twin"]))
        if outcome == "stays" and variant != "stopped":
            path["ball"] = np.minimum(path["ball"], layout["carton"])
        elif outcome == "returns":
            path["ball"] = np.maximum(
                np.minimum(path["ball"], 2 * layout["carton"] - path["ball"]), layout["x"] - 1.5
            )
        return path

    def _body(self, layout: Layout, x: float, speed: float) -> Body:
        """Without friction, so that a ball hands all of its speed on; it is drawn as if it rolled."""
        r, velocity = layout["r"], (speed, 0)
        y = layout.ground - BACK - r
        return round_body(x, y, r, friction=0.0, bounce=1.0, velocity=velocity, drag=0.004)

    def _ball(self, key: str, layout: Layout, x: Array, start: float) -> Sprite:
        r, line = layout["r"], layout.ground - BACK
        near, angle = _near(layout, line), (x - start) / r
        return sprite(
            key, layout, category="ball", x=x, base=line, near=near, w=2 * r, h=2 * r, angle=angle, order=1
        )


def _near(layout: Layout, row: float) -> float:
    """How near a thing is that stands on this row of the picture (`render.nearness`)."""
    return layout.near + (0.9 - layout.near) * (row - layout.ground) / (96.0 - layout.ground)
