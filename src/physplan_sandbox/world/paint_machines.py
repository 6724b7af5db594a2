"""How simple machines look: thread, weight, seesaw, balance and pan."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from physplan_sandbox.world import shapes
from physplan_sandbox.world.paint import Array, Brush, Layer, painter, rgb, shaded

ROPE_HALF_WIDTH = 1.2  # half the width of a thread
BOARD_HALF_THICKNESS = 2.1  # half the thickness of a seesaw's board
RIM_HEIGHT = 3.0  # how far the ends of the board stand up


@painter("thread")
def thread(p: Brush) -> Iterator[Layer]:
    """From the lower left corner up to a hook in the upper right one; `level` is how much of it has burnt
    away from the point `look['at']` (0 = lower left, 1 = hook)."""
    at = float(p.look["at"])
    low, high = (-p.a + ROPE_HALF_WIDTH, p.b - ROPE_HALF_WIDTH), (p.a - ROPE_HALF_WIDTH, -p.b + 2.0)
    yield Layer(shapes.circle(p.u - high[0], p.v - high[1], 2.2), rgb(0.34, 0.35, 0.38), solid=False)
    for start, end in ((0.0 * p.level, at * (1 - p.level)), (at + (1 - at) * p.level, 1.0 + 0.0 * p.level)):
        line = shapes.capsule(p.u, p.v, _between(low, high, start), _between(low, high, end), ROPE_HALF_WIDTH)
        line = line + 10.0 * (p.level > 0.98)
        yield Layer(line, _twisted(p))
    burning = (p.level > 0.02) & (p.level < 0.9)
    spot_u, spot_v = _between(low, high, at + 0.0 * p.level)
    glow = shapes.circle(p.u - spot_u, p.v - spot_v, 3.0)
    yield Layer(glow + 20.0 * ~burning, rgb(1.0, 0.55, 0.15), 0.8, soft=3.0, solid=False)


@painter("cord")
def cord(p: Brush) -> Iterator[Layer]:
    """A piece of thread that hangs straight down."""
    yield Layer(shapes.box(p.u, p.v, ROPE_HALF_WIDTH, p.b, 0.5), _twisted(p))


def _between(a: tuple[Array, Array], b: tuple[Array, Array], share: Array) -> tuple[Array, Array]:
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


def _twisted(p: Brush) -> Array:
    twist = 1.0 + 0.14 * np.sign(np.sin((p.u + p.v) * 1.6))
    return np.clip(p.color * twist[..., None], 0, 1)


@painter("weight")
def weight(p: Brush) -> Iterator[Layer]:
    """An iron weight with a ring on top."""
    yield shaded(p, np.abs(shapes.ellipse(p.u, p.v + 0.70 * p.b, 0.34 * p.a, 0.24 * p.b)) - 0.8)
    yield shaded(p, shapes.trapezoid(p.u, p.v - 0.24 * p.b, p.a * 0.68, p.a, p.b * 0.76), round_=0.3)
    band = np.maximum(np.abs(p.v - 0.45 * p.b) - 0.13 * p.b, np.abs(p.u) - p.a * 0.84)
    yield Layer(band, np.clip(p.color * 0.5 + 0.42, 0, 1))


@painter("seesaw")
def seesaw(p: Brush) -> Iterator[Layer]:
    """A board with rims on a wedge; it is tilted by `level` radians, clockwise, about the wedge's tip."""
    height = float(p.look["height"])
    top = p.b - height
    wedge = shapes.trapezoid(p.u, p.v - p.b + 0.5 * height, 1.0, 0.75 * height, 0.5 * height)
    yield shaded(p, wedge, np.clip(p.color * 0.7, 0, 1))
    c, s = np.cos(p.level), np.sin(p.level)
    ru, rv = c * p.u + s * (p.v - top), -s * p.u + c * (p.v - top)
    half = float(p.look["half"])
    board = shapes.box(ru, rv + BOARD_HALF_THICKNESS, half, BOARD_HALF_THICKNESS, 0.8)
    for side in (-1.0, 1.0):
        rim = shapes.box(
            ru - side * (half - 0.9), rv + BOARD_HALF_THICKNESS + RIM_HEIGHT, 0.9, RIM_HEIGHT, 0.5
        )
        board = np.minimum(board, rim)
    yield shaded(p, board)
    yield Layer(shapes.circle(p.u, p.v - top + BOARD_HALF_THICKNESS, 1.5), rgb(0.2, 0.2, 0.22))


@painter("balance")
def balance(p: Brush) -> Iterator[Layer]:
    """A foot, a pillar and a beam that carries pans at its ends; tilted by `level` radians, clockwise."""
    yield shaded(p, shapes.trapezoid(p.u, p.v - p.b + 1.8, 6.0, 10.0, 1.8))
    yield shaded(p, shapes.box(p.u, p.v, 2.2, p.b, 0.8))
    top = -p.b + float(p.look["beam"])
    c, s = np.cos(p.level), np.sin(p.level)
    ru, rv = c * p.u + s * (p.v - top), -s * p.u + c * (p.v - top)
    yield shaded(p, shapes.box(ru, rv, p.a, 2.1, 1.0), np.clip(p.color * 0.9 + 0.08, 0, 1))
    yield Layer(shapes.circle(p.u, p.v - top, 2.4), rgb(0.90, 0.76, 0.36))


@painter("pan")
def pan(p: Brush) -> Iterator[Layer]:
    """A flat dish on a rod."""
    dish = 2.4
    yield Layer(shapes.box(p.u, p.v - dish, 1.1, p.b - dish, 0.4), np.clip(p.color * 0.60, 0, 1))
    yield shaded(p, shapes.trapezoid(p.u, p.v + p.b - dish, p.a, 0.78 * p.a, dish))
