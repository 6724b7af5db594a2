"""How the things of the longer stories look: a paper boat, a jug, a stone, a carton, a ramp, spilt water."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from physplan_sandbox.world import shapes
from physplan_sandbox.world.paint import Brush, Layer, painter, rgb, shaded


@painter("boat")
def boat(p: Brush) -> Iterator[Layer]:
    """A folded paper boat: a sail between two raised ends of the hull."""
    sail = np.maximum(np.abs(p.u) - 0.42 * p.a * np.clip((p.v + p.b) / p.b, 0.0, 1.0), p.v - 0.3 * p.b)
    yield shaded(p, np.maximum(sail, -p.v - p.b), np.clip(p.color * 0.45 + 0.5, 0, 1))
    fold = np.maximum(np.abs(p.u) - 0.3, sail + 0.8)
    yield Layer(fold, np.clip(p.color * 0.55, 0, 1), 0.7)
    hull = shapes.trapezoid(p.u, p.v - 0.5 * p.b, p.a, 0.58 * p.a, 0.5 * p.b)
    yield shaded(p, hull)
    yield Layer(np.maximum(np.abs(p.v - 0.2 * p.b) - 0.45, hull + 0.7), np.clip(p.color * 0.6, 0, 1), 0.8)


@painter("jug")
def jug(p: Brush) -> Iterator[Layer]:
    """A large glass vessel with a handle on the side that `look['handle']` says."""
    side = float(p.look.get("handle", -1.0))
    handle = np.abs(shapes.ellipse(p.u - side * p.a, p.v + 0.1 * p.b, 4.2, 0.42 * p.b)) - 1.1
    yield Layer(np.maximum(handle, p.a - side * p.u), rgb(0.60, 0.74, 0.82), 0.95)
    yield Layer(shapes.box(p.u, p.v, p.a, p.b, 1.5), rgb(0.78, 0.90, 0.95), 0.35)
    yield Layer(shapes.open_box(p.u, p.v, p.a, p.b, 1.7), rgb(0.84, 0.93, 0.98), 0.92)
    yield Layer(np.abs(shapes.box(p.u, p.v, p.a, p.b, 1.5)) - 0.4, rgb(0.36, 0.50, 0.60), 0.8)


@painter("stone")
def stone(p: Brush) -> Iterator[Layer]:
    """A flat grey stone with a level top."""
    body = np.maximum(shapes.ellipse(p.u, p.v - 0.25 * p.b, p.a, 1.25 * p.b), -p.v - p.b)
    body = np.maximum(body, p.v - p.b)
    speckle = 1.0 + 0.10 * np.sin(p.u * 1.7 + 2.0 * np.sin(p.v * 1.3)) * np.sin(p.v * 1.9 + 0.7 * p.u)
    yield shaded(p, body, p.color * speckle[..., None])
    yield Layer(np.maximum(body + 0.6, p.v + 0.55 * p.b), np.clip(p.color * 1.25, 0, 1), 0.8)


@painter("carton")
def carton(p: Brush) -> Iterator[Layer]:
    """A closed cardboard box, with a strip of tape down from its lid and a label."""
    body = shapes.box(p.u, p.v, p.a, p.b, 0.8)
    yield shaded(p, body)
    yield Layer(np.maximum(np.abs(p.v + 0.72 * p.b) - 0.35, body + 0.8), np.clip(p.color * 0.55, 0, 1), 0.9)
    tape = np.maximum(np.abs(p.u) - 0.13 * p.a, np.maximum(body + 0.5, p.v + 0.30 * p.b))
    yield Layer(tape, np.clip(p.color * 0.4 + rgb(0.52, 0.46, 0.36), 0, 1), 0.9)
    label = shapes.box(p.u + 0.30 * p.a, p.v - 0.45 * p.b, 0.40 * p.a, 0.22 * p.b, 0.5)
    yield Layer(label, rgb(0.93, 0.91, 0.86))
    for k in (0.38, 0.52):
        line = np.maximum(np.abs(p.v - k * p.b) - 0.3, np.abs(p.u + 0.30 * p.a) - 0.28 * p.a)
        yield Layer(line, rgb(0.45, 0.45, 0.48), 0.8)


@painter("ramp")
def ramp(p: Brush) -> Iterator[Layer]:
    """A wedge that falls from its upper left to its lower right corner."""
    lean = p.b / np.maximum(p.a, 1.0)
    face = (lean * p.u - p.v) / np.sqrt(1.0 + lean * lean)
    body = np.maximum(np.maximum(-p.u - p.a, p.v - p.b), face)
    yield shaded(p, body)
    yield Layer(np.maximum(np.abs(face + 1.6) - 0.8, body + 0.5), np.clip(p.color * 0.45 + 0.5, 0, 1), 0.9)


@painter("spill")
def spill(p: Brush) -> Iterator[Layer]:
    """Water that runs over a brim and down both sides of a vessel, as far as `b` reaches."""
    sides = np.maximum(np.abs(np.abs(p.u) - p.a + 0.9) - 1.1, np.abs(p.v) - p.b)
    brim = shapes.box(p.u, p.v + p.b, p.a + 0.3, 1.1, 1.0)
    yield Layer(np.minimum(sides, brim), np.clip(p.color * 1.04, 0, 1), 0.92)
    glint = np.maximum(np.abs(np.abs(p.u) - p.a + 0.7) - 0.35, np.abs(p.v) - p.b + 1.0)
    yield Layer(glint, rgb(0.92, 0.97, 1.0), 0.7)
