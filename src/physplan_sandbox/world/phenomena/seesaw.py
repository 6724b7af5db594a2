"""Thermodynamics and mechanics: a candle burns through a thread, a weight falls, a seesaw throws a ball."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from physplan_sandbox.world.paint_machines import BOARD_HALF_THICKNESS
from physplan_sandbox.world.phenomena.parts import crate_walls, shown
from physplan_sandbox.world.physics import GRAVITY, Body, Poses, round_body, simulate, swing
from physplan_sandbox.world.render import FRAME_BEATS, FRAMES
from physplan_sandbox.world.scene import Layout, Spot, Take, Thing, back_row, pick, sprite
from physplan_sandbox.world.sprites import PALETTE, Array, Sprite, ramp

BOARD_HALF_LENGTH = 20.0  # half the length of the board
ARM_LENGTH = 15.5  # how far from the middle things lie on it
BURN_BEATS = 2.4  # beats until the thread gives way
HOOK_HEIGHT = 8.0  # picture height at which it hangs
THROW_HEIGHT = 20.0  # how high the ball flies above the end of the board


class Seesaw:
    """The thread burns through and the weight falls on the seesaw: the ball at its other end is thrown into a
    crate or onto the table; a heavier weight there is not moved."""

    name = "seesaw"
    domain = "solid mechanics"
    prompts = ("the candle burns through the thread", "the flame burns the thread through")
    variants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "crate": ("in_crate", "sticks", "hovers"),
        "table": ("on_table", "sticks", "floats"),
        "heavy": ("holds", "tips", "hovers"),
    }
    crowd = 4

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]:
        pivot = rng.uniform(45.2, 46.2)
        height = rng.uniform(9.0, 9.8)
        return {
            "pivot": pivot,
            "height": height,
            "tilt": float(np.arcsin((height - 1.0) / BOARD_HALF_LENGTH)),
            "w": rng.uniform(12.2, 13.2),
            "h": rng.uniform(13, 14),
            "drop": rng.uniform(16, 18),
            "r": rng.uniform(6.0, 6.4),
            "big": rng.uniform(17.5, 18.5),
            "anchor": rng.uniform(3, 4),
            "candle": rng.uniform(11.3, 12.0),
            "candle_w": rng.uniform(8.4, 9.4),
            "crate": rng.uniform(83.0, 83.4),
            "crate_w": rng.uniform(23.2, 24),
            "crate_h": rng.uniform(16, 18),
        }

    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]:
        return {
            "ball": pick(rng, "red", "orange", "yellow", "green", "blue", "pink"),
            "weight": pick(rng, "dark", "grey", "purple", "teal"),
            "seesaw": pick(rng, "red", "teal", "blue", "green", "purple"),
            "candle": pick(rng, "white", "red", "green", "pink"),
            "crate": "brown",
        }

    def things(self, variant: str, layout: Layout) -> dict[str, Thing]:
        small, large = {"extent": "small"}, {"extent": "large"}
        tipped = {"configuration": "tipped to the right"}
        things = {
            "thread": Thing(category="thread", color="white"),
            "candle": Thing(category="candle", color=layout.colors["candle"]),
            "flame": Thing(category="flame", color="orange"),
            "weight": Thing(category="weight", color=layout.colors["weight"], attributes=small),
            "seesaw": Thing(category="seesaw", color=layout.colors["seesaw"], attributes=tipped),
        }
        if variant == "heavy":
            things["load"] = Thing(category="weight", color=layout.colors["weight"], attributes=large)
        else:
            things["ball"] = Thing(category="ball", color=layout.colors["ball"])
        if variant == "crate":
            things["crate"] = Thing(category="crate", color="brown", attributes={"configuration": "open"})
        return things

    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]:
        held = (
            ("table", "support", "thread"),
            ("thread", "attachment", "weight"),
            ("table", "support", "candle"),
            ("candle", "attachment", "flame"),
            ("table", "support", "seesaw"),
            ("seesaw", "support", "load" if variant == "heavy" else "ball"),
        )
        return (*held, ("table", "support", "crate")) if variant == "crate" else held

    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]:
        return ()

    def spots(self, layout: Layout, horizon: float) -> Sequence[Spot]:
        return [*back_row(horizon, 87), *((x, 94.0) for x in (12.0, 31.0, 62.0, 84.0))]

    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]:
        falls = outcome != "hovers"
        tilts = outcome not in ("hovers", "holds")
        burnt = ramp(FRAME_BEATS, (BURN_BEATS - 1.5) * take.pace, (BURN_BEATS + 1.2) * take.pace)
        free = self._weight_falling(layout, take)
        landed = int(np.argmax(free >= self._surface(layout, layout["tilt"], -ARM_LENGTH) - 0.6))
        angle = self._angle(layout, take, landed if tilts else None)
        rest = self._surface(layout, angle, -ARM_LENGTH)
        carried = np.arange(FRAMES) >= landed
        bottom = np.where(carried, rest, np.minimum(free, rest)) if falls else np.full(FRAMES, free[0])
        sprites = [
            *self._thread(layout, burnt, bottom),
            self._candle(layout),
            self._flame(layout),
            self._weight(layout, bottom),
            self._board(layout, angle),
        ]
        if variant == "heavy":
            sprites.append(self._load(layout, angle))
        else:
            sprites.append(self._ball(outcome, layout, take, angle))
        if variant == "crate":
            w, h, x = layout["crate_w"], layout["crate_h"], layout["crate"]
            sprites.append(sprite("crate", layout, x=x, w=w, h=h))
        return sprites

    def _surface(self, layout: Layout, angle: Array | float, along: float) -> Array:
        """The picture height of the board's top, `along` units right of its middle; tilted clockwise."""
        return (
            layout.ground
            - layout["height"]
            + along * np.sin(angle)
            - 2 * BOARD_HALF_THICKNESS * np.cos(angle)
        )

    def _weight_x(self, layout: Layout) -> float:
        return layout["pivot"] - ARM_LENGTH * float(np.cos(layout["tilt"]))

    def _weight_falling(self, layout: Layout, take: Take) -> Array:
        """The height of the weight's foot: by the engine, down to the raised end of the board."""
        end = float(self._surface(layout, layout["tilt"], -ARM_LENGTH))
        w, h = layout["w"], layout["h"]
        body = Body(x=self._weight_x(layout), y=end - layout["drop"] - h / 2, w=w, h=h, bounce=0.0)
        pose = simulate([body], ground=end, start=BURN_BEATS * take.pace, pace=take.pace)[0]
        return np.asarray(pose.y) + h / 2

    def _angle(self, layout: Layout, take: Take, landed: int | None) -> Array:
        """The board rests with its right end down until the weight comes down on the left one."""
        tilt = layout["tilt"]
        if landed is None:
            return np.full(FRAMES, tilt, dtype=np.float32)
        torque = lambda frame: -0.7 if frame >= landed else 0.7  # noqa: E731
        return swing(torque, limit=tilt, start=tilt, pace=take.pace)

    def _ball(self, outcome: str, layout: Layout, take: Take, angle: Array) -> Sprite:
        """It lies on the right end until that stops; then it flies on."""
        r = layout["r"]
        at = ARM_LENGTH * np.cos(angle) + (r + 2 * BOARD_HALF_THICKNESS) * np.sin(angle)
        x, y = layout["pivot"] + at, self._surface(layout, angle, ARM_LENGTH) - r
        up = np.flatnonzero(angle < -0.93 * layout["tilt"])
        turn: Array = np.zeros(FRAMES)
        if up.size and outcome in ("in_crate", "on_table", "floats"):
            flight = self._flight(outcome, layout, take, int(up[0]), float(x[up[0]]), float(y[up[0]]))
            later = np.arange(FRAMES) > up[0]
            x, y = np.where(later, flight.x, x), np.where(later, flight.y, y)
            turn = np.where(later, flight.angle, 0.0)
            if outcome == "floats":
                x, y = self._floating(int(up[0]), x, y)
        color = layout.rgb("ball")
        return sprite("ball", layout, x=x, y=y, w=2 * r, h=2 * r, angle=turn, color=color, order=2)

    def _flight(self, outcome: str, layout: Layout, take: Take, start: int, x: float, y: float) -> Poses:
        """Thrown so that it comes down where the crate is, or would be."""
        r, ground = layout["r"], layout.ground
        up = float(np.sqrt(2 * GRAVITY * THROW_HEIGHT))
        rim = ground - layout["crate_h"]
        time = up / GRAVITY + float(np.sqrt(2 * (THROW_HEIGHT + rim - y) / GRAVITY))
        # On the table it rolls on a little.
        end = layout["crate"] - (0.0 if outcome == "in_crate" else 9.0)
        velocity = ((end - x) / time + 0.05 * take.nudge, -up)
        body = round_body(x, y, r, bounce=0.3, velocity=velocity, drag=0.01)
        walls = crate_walls(layout, x=layout["crate"], w=layout["crate_w"], h=layout["crate_h"])
        fixed = walls if outcome == "in_crate" else []
        poses = simulate([body], ground=ground, fixed=fixed, start=(start + 1) * 0.75, pace=take.pace)
        return poses[0]

    def _floating(self, start: int, x: Array, y: Array) -> tuple[Array, Array]:
        """A wrong outcome: it stays where it was highest."""
        top = start + int(np.argmin(y[start:]))
        later = np.arange(FRAMES) > top
        return np.where(later, x[top], x), np.where(later, y[top] + np.sin(FRAME_BEATS * 0.6), y)

    def _load(self, layout: Layout, angle: Array) -> Sprite:
        """The heavy weight on the right end."""
        size = layout["big"]
        h = size * 1.05
        x = layout["pivot"] + ARM_LENGTH * np.cos(angle) - 1.5
        base = self._surface(layout, angle, ARM_LENGTH) + 1.0
        return sprite("load", layout, category="weight", x=x, base=base, w=size, h=h, order=2)

    def _weight(self, layout: Layout, bottom: Array) -> Sprite:
        x, w, h = self._weight_x(layout), layout["w"], layout["h"]
        return sprite("weight", layout, x=x, base=bottom, w=w, h=h, order=3)

    def _board(self, layout: Layout, angle: Array) -> Sprite:
        tall = 2 * layout["height"] + 6
        return sprite(
            "seesaw",
            layout,
            x="pivot",
            w=2 * BOARD_HALF_LENGTH * float(np.cos(layout["tilt"])),
            h=tall,
            level=angle,
            look={"height": layout["height"], "half": BOARD_HALF_LENGTH},
            order=1,
        )

    def _thread(self, layout: Layout, burnt: Array, bottom: Array) -> list[Sprite]:
        """From the table up over a hook and down to the weight; the flame eats it from where it touches."""
        hook, low = self._weight_x(layout), layout["anchor"]
        white = PALETTE["white"]
        at = (layout["candle"] - low) / (hook - low)
        w, top = hook + 1.2 - low, HOOK_HEIGHT - 2.0
        slope = sprite(
            "thread",
            layout,
            x=low + w / 2,
            y=(top + layout.ground + 1) / 2,
            w=w,
            h=layout.ground + 1 - top,
            level=burnt,
            color=white,
            look={"at": at},
            order=-1,
            grounded=False,
        )
        end = bottom - layout["h"] + 1.0
        start = HOOK_HEIGHT + (end - HOOK_HEIGHT) * burnt
        cord = sprite(
            "thread",
            layout,
            kind="cord",
            x=hook,
            y=(start + end) / 2,
            w=2.4,
            h=np.maximum(end - start, 0.01),
            level=burnt,
            alpha=shown(burnt < 0.97),
            color=white,
            order=-1,
            grounded=False,
        )
        return [slope, cord]

    def _candle(self, layout: Layout) -> Sprite:
        return sprite("candle", layout, x="candle", w="candle_w", h=self._candle_height(layout), order=1)

    def _candle_height(self, layout: Layout) -> float:
        """Such that the flame's middle touches the thread."""
        hook, low = self._weight_x(layout), layout["anchor"]
        share = (layout["candle"] - low) / (hook - low)
        return share * (layout.ground - HOOK_HEIGHT) - 7.5

    def _flame(self, layout: Layout) -> Sprite:
        flicker = 1.0 + 0.07 * np.sin(FRAME_BEATS * 1.7)
        base = layout.ground - self._candle_height(layout) - 1.6
        x = layout["candle"]
        return sprite("flame", layout, x=x, base=base, w=7, h=12 * flicker, order=2, grounded=False)
