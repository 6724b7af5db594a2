"""Solid and fluid mechanics: a ball, a row of dominoes, a glass, and what takes up its water."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from physplan_sandbox.world.phenomena.parts import WATER, puddle, shown
from physplan_sandbox.world.physics import Body, Poses, round_body, simulate, standing
from physplan_sandbox.world.render import FRAME_BEATS
from physplan_sandbox.world.scene import Layout, Spot, Take, Thing, back_row, pick, sprite
from physplan_sandbox.world.sprites import Array, Sprite, ramp

BALLS = ("red", "orange", "yellow", "green", "blue", "purple")
LYING_ANGLE = 1.2  # radians from which on a glass has lost its water
DOMINO_THICKNESS = 4.6  # of a domino
SPEED, MASS = 3.8, 3.0  # of the ball
GLASS_MASS = 0.6  # mass, in dominoes
FRICTION = 0.3  # of a domino: with more of it the glass is held up
PACE_FACTOR = 0.85  # faster than other scenes, so that the water has time
DRAIN_BEATS = 3.5  # beats in which the water runs out and spreads
NEVER_BEAT = 1000.0  # beats: never
SOAK_BEATS = 5.0  # beats in which a cloth takes it up


@dataclass(frozen=True, kw_only=True)
class _Fall:
    """The poses of everything that moves, and when the water leaves the glass."""

    ball: Poses
    dominoes: Sequence[Poses]
    glass: Poses
    spilt: Array  # 0 before, 1 when all of the water is out
    taken: Array  # 0 before, 1 when it has been taken up


class Cascade:
    """A ball rolls into dominoes, the last knocks over a glass; its water stays in a tray, soaks into a
    cloth, or there was none."""

    name = "cascade"
    domain = "solid mechanics"
    prompts = ("the ball rolls into the dominoes", "the ball starts to roll towards the dominoes")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cloth": ("soaks", "spreads", "stands"),
        "tray": ("holds", "spreads", "stands"),
        "empty": ("dry", "spreads", "stands"),
    }
    crowd = 5
    count = 3

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        first, step = rng.uniform(23.4, 24.0), rng.uniform(9.4, 9.8)
        w = rng.uniform(11.8, 12.6)
        glass = first + 2 * step + DOMINO_THICKNESS / 2 + rng.uniform(2.8, 3.4) + w / 2
        return {
            "shelf_w": first - 4.8,
            "shelf_h": rng.uniform(9.0, 10.0),
            "x": rng.uniform(7.2, 8.0),
            "r": rng.uniform(6.2, 6.6),
            **{f"x{k}": first + k * step for k in range(self.count)},
            "domino_h": rng.uniform(18.6, 19.6),
            "glass": glass,
            "w": w,
            "h": rng.uniform(20.5, 22),
            "level": rng.uniform(0.73, 0.80),
            "below": rng.uniform(79.5, 80.5),
            "below_w": rng.uniform(27, 29),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        ball, domino = rng.choice(BALLS, 2, replace=False)
        return {
            "ball": str(ball),
            "domino": str(domino) if rng.random() < 0.6 else "white",
            "shelf": pick(rng, "grey", "brown", "teal"),
            "tray": pick(rng, "grey", "yellow", "pink", "green"),
            "cloth": pick(rng, "red", "orange", "purple", "yellow", "pink"),
        }

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        below = self._below(variant)
        things = {
            "ball": Thing(category="ball", color=layout.colors["ball"]),
            "shelf": Thing(category="shelf", color=layout.colors["shelf"]),
            **dict.fromkeys(self._row(), Thing(category="domino", color=layout.colors["domino"])),
            "glass": Thing(category="glass", attributes={"configuration": "open"}),
            below: Thing(category=below, color=layout.colors[below]),
        }
        if variant != "empty":
            things["water"] = Thing(category="water", attributes={"material_phase": "liquid"})
        return things

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        standing = ("shelf", *self._row(), "glass", self._below(variant))
        held = (("shelf", "support", "ball"), *(("table", "support", key) for key in standing))
        return held if variant == "empty" else (*held, ("glass", "containment", "water"))

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return ()

    def spots(self, layout: Layout, horizon: float) -> Sequence[Spot]:
        return [*back_row(horizon, 8, 23, 38, 53, 68, 83), (12.0, 93.0), (34.0, 93.0)]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        fall = self._fall(outcome, layout, take)
        d, below = 2 * layout["r"], self._below(variant)
        sprites = [
            sprite(
                "shelf", layout, kind="box", x=layout["shelf_w"] / 2 - 4, w=layout["shelf_w"] + 8, h="shelf_h"
            ),
            sprite("ball", layout, at=fall.ball, w=d, h=d, order=1),
            *(
                sprite(key, layout, category="domino", at=pose, w=DOMINO_THICKNESS, h="domino_h", order=-k)
                for k, (key, pose) in enumerate(zip(self._row(), fall.dominoes, strict=True))
            ),
            sprite("glass", layout, at=fall.glass, w="w", h="h", color=WATER, order=2),
            self._holder(below, outcome, layout, fall),
        ]
        if variant != "empty":
            sprites.append(self._water(layout, fall))
        if outcome in ("soaks", "spreads", "holds"):
            sprites.append(self._puddle(below, outcome, layout, take, fall))
        return sprites

    def _row(self) -> list[str]:
        return [f"domino{k}" for k in range(self.count)]

    def _below(self, variant: str) -> str:
        return "tray" if variant == "tray" else "cloth"

    def _fall(self, outcome: str, layout: Layout, take: Take) -> _Fall:
        """All by the engine; a glass that shall stand is fixed for it."""
        r, ground, top = layout["r"], layout.ground, layout.ground - layout["shelf_h"]
        w, h, tall = layout["w"], layout["h"], layout["domino_h"]
        shelf = Body(
            x=layout["shelf_w"] / 2 - 4, y=(top + ground) / 2, w=layout["shelf_w"] + 8, h=ground - top
        )
        velocity = (SPEED + 0.08 * take.nudge, 0)
        ball = round_body(layout["x"], top - r, r, mass=MASS, bounce=0.0, velocity=velocity, drag=0.05)
        places = [layout[f"x{k}"] for k in range(self.count)]
        row = [standing(x, ground, DOMINO_THICKNESS, tall, friction=FRICTION, bounce=0.02) for x in places]
        loose = {"mass": GLASS_MASS, "friction": 0.9, "bounce": 0.02, "drag": 0.04}
        glass = standing(layout["glass"], ground, w, h, **loose)
        stands = outcome == "stands"
        poses = simulate(
            [ball, *row, *([] if stands else [glass])],
            ground=ground,
            fixed=[shelf, glass] if stands else [shelf],
            start=1,
            pace=PACE_FACTOR * take.pace,
        )
        glass_pose = Poses(glass.x, glass.y, 0.0) if stands else poses[-1]
        lying = np.flatnonzero(np.broadcast_to(glass_pose.angle, FRAME_BEATS.shape) > LYING_ANGLE)
        when = FRAME_BEATS[lying[0]] if lying.size else NEVER_BEAT
        return _Fall(
            ball=poses[0],
            dominoes=poses[1 : 1 + self.count],
            glass=glass_pose,
            spilt=ramp(FRAME_BEATS, when - 1.0, when - 1.0 + DRAIN_BEATS),
            taken=ramp(FRAME_BEATS, when + 1.5, when + 1.5 + SOAK_BEATS),
        )

    def _water(self, layout: Layout, fall: _Fall) -> Sprite:
        """It lies at the bottom of the glass, turned with it, until it has run out."""
        depth, angle = layout["h"] - 3.5, fall.glass.angle
        off = 0.5 * (layout["h"] - depth) - 1.3
        pose = Poses(fall.glass.x - off * np.sin(angle), fall.glass.y + off * np.cos(angle), angle)
        level, alpha = layout["level"] * (1 - fall.spilt), shown(fall.spilt < 0.97)
        size: dict[str, Any] = {"w": layout["w"] - 2.6, "h": depth, "level": level, "alpha": alpha}
        return sprite("water", layout, at=pose, color=WATER, order=3, grounded=False, **size)

    def _holder(self, below: str, outcome: str, layout: Layout, fall: _Fall) -> Sprite:
        """The tray or the cloth, a little nearer than the row; wet when it takes up the water."""
        level = 0.9 * fall.taken * (outcome == "soaks") + fall.spilt * (outcome == "holds")
        base = layout.ground + 10
        return sprite(
            below, layout, x="below", base=base, w="below_w", h=11.5, level=level, near=layout.near + 0.10
        )

    def _puddle(self, below: str, outcome: str, layout: Layout, take: Take, fall: _Fall) -> Sprite:
        """In the tray, on the cloth until that has taken it up, or (`spreads`) over the table in front."""
        spread = np.sqrt(fall.spilt)
        x, y, wide, high = layout["below"], layout.ground + 1.1, layout["below_w"] - 5, 4.8
        if outcome == "soaks":
            spread, y, high = spread * np.sqrt(1 - fall.taken), y + 2.5, 6.0
        elif outcome == "spreads":
            x, y, wide, high = x - 13, layout.ground + 14.5, 36.0, 8.5
        w, h = (wide + take.nudge) * spread, high * np.sqrt(spread)
        return puddle(layout, x=x, y=y, w=w, h=h, alpha=shown(spread > 0.04), near=layout.near + 0.12)
