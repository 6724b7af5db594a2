"""How each kind of sprite looks. A painter gives layers: a signed distance, a colour and an opacity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physplan_sandbox.world import shapes

Array = NDArray[Any]
EDGE_DARKNESS = 0.55  # how dark an edge is


@dataclass(frozen=True)
class Brush:
    """What a painter works with: local coordinates, half sizes, colour, all broadcast over [T, h, w]."""

    u: Array
    v: Array
    a: Array
    b: Array
    color: Array  # [T, 1, 1, 3]
    level: Array
    look: dict


@dataclass(frozen=True)
class Layer:
    distance: Array
    color: Array
    alpha: Array | float = 1.0
    soft: float = 0.0  # width of a blurred edge; 0 = crisp
    solid: bool = True  # counts for the instance mask


Painter = Callable[[Brush], Iterator[Layer]]
PAINTERS: dict[str, Painter] = {}


def painter(kind: str) -> Callable[[Painter], Painter]:
    def register(function: Painter) -> Painter:
        PAINTERS[kind] = function
        return function

    return register


def rgb(r: float, g: float, b: float) -> Array:
    return np.array([r, g, b], dtype=np.float32)


def shaded(p: Brush, distance: Array, color: Array | None = None, *, round_: float = 0.0) -> Layer:
    """A crisp layer lit from the upper left, with a dark edge."""
    base = p.color if color is None else color
    light = 1.06 - 0.16 * (p.v / np.maximum(p.b, 1.0)) - 0.10 * (p.u / np.maximum(p.a, 1.0))
    if round_:
        gloss = np.exp(
            -(((p.u + 0.35 * p.a) ** 2 + (p.v + 0.4 * p.b) ** 2) / np.maximum(0.10 * p.a * p.b, 0.4))
        )
        light = light + round_ * gloss
    edge = np.clip(1.0 + (distance + 0.4) / 1.1, 0.0, 1.0)
    tone = light * (1.0 - (1.0 - EDGE_DARKNESS) * edge)
    return Layer(distance, np.clip(base * tone[..., None], 0.0, 1.0))


@painter("ball")
def ball(p: Brush) -> Iterator[Layer]:
    yield shaded(p, shapes.circle(p.u, p.v, p.a), round_=0.45)
    stripe = np.maximum(np.abs(p.u * 0.5 + p.v) - 0.16 * p.a, shapes.circle(p.u, p.v, p.a - 1.2))
    yield Layer(stripe, np.clip(p.color * 0.62, 0, 1))


@painter("box")
def plain_box(p: Brush) -> Iterator[Layer]:
    yield shaded(p, shapes.box(p.u, p.v, p.a, p.b, 0.8))


@painter("block")
def block(p: Brush) -> Iterator[Layer]:
    """A block whose top end is painted, so that its pose can be seen."""
    body = shapes.box(p.u, p.v, p.a, p.b, 1.0)
    yield shaded(p, body)
    cap = np.maximum(body + 0.9, p.v + 0.52 * p.b)
    yield Layer(cap, np.clip(p.color * 0.45 + 0.52, 0, 1))


@painter("domino")
def domino(p: Brush) -> Iterator[Layer]:
    body = shapes.box(p.u, p.v, p.a, p.b, 0.8)
    yield shaded(p, body)
    for sign in (-1.0, 1.0):
        yield Layer(shapes.circle(p.u, p.v - sign * 0.5 * p.b, 1.0), rgb(0.16, 0.16, 0.18))


@painter("crate")
def crate(p: Brush) -> Iterator[Layer]:
    yield Layer(shapes.box(p.u, p.v, p.a - 1, p.b - 0.5), np.clip(p.color * 0.38, 0, 1))
    yield shaded(p, shapes.open_box(p.u, p.v, p.a, p.b, 2.4))


@painter("glass")
def glass(p: Brush) -> Iterator[Layer]:
    tint = rgb(0.78, 0.90, 0.95)
    yield Layer(shapes.box(p.u, p.v, p.a, p.b, 1.0), tint, 0.35)
    yield Layer(shapes.open_box(p.u, p.v, p.a, p.b, 1.3), rgb(0.88, 0.95, 0.98), 0.92)
    yield Layer(np.abs(shapes.box(p.u, p.v, p.a, p.b, 1.0)) - 0.35, rgb(0.42, 0.55, 0.62), 0.7)


@painter("jar")
def jar(p: Brush) -> Iterator[Layer]:
    """A glass turned over: closed above, with a knob."""
    outer = shapes.box(p.u, p.v, p.a, p.b, 5.0)
    yield Layer(np.maximum(outer, -p.v - p.b), rgb(0.80, 0.92, 0.95), 0.22)
    yield Layer(np.abs(outer + 0.7) - 0.9, rgb(0.86, 0.95, 0.97), 0.85)
    yield Layer(np.abs(outer) - 0.35, rgb(0.36, 0.50, 0.56), 0.8)
    yield Layer(shapes.circle(p.u, p.v + p.b + 1.2, 2.0), rgb(0.50, 0.64, 0.70), 0.95)
    yield Layer(shapes.box(p.u + 0.55 * p.a, p.v + 0.1 * p.b, 0.8, 0.45 * p.b, 0.7), rgb(1, 1, 1), 0.55)


@painter("water")
def water(p: Brush) -> Iterator[Layer]:
    """Fills its box from below up to `level` (0 to 1)."""
    top = p.b * (1.0 - 2.0 * p.level)
    body = np.maximum(shapes.box(p.u, p.v, p.a, p.b, 0.6), top - p.v)
    depth = np.clip((p.v - top) / np.maximum(2 * p.b, 1.0), 0, 1)
    yield Layer(body, np.clip(p.color * (1.08 - 0.30 * depth)[..., None], 0, 1), 0.86)
    surface = np.maximum(np.abs(p.v - top - 0.6) - 0.7, np.abs(p.u) - p.a + 0.4)
    yield Layer(surface + 10.0 * (p.level <= 0.02), np.clip(p.color * 0.45 + 0.5, 0, 1), 0.8)


@painter("stream")
def stream(p: Brush) -> Iterator[Layer]:
    wave = 0.35 * np.sin(p.v * 0.9)
    yield Layer(shapes.box(p.u + wave, p.v, p.a, p.b, 0.8), np.clip(p.color * 1.02, 0, 1), 0.9)
    yield Layer(shapes.box(p.u + wave + 0.6, p.v, 0.5, np.maximum(p.b - 1, 0.1)), rgb(0.9, 0.96, 1.0), 0.6)


@painter("puddle")
def puddle(p: Brush) -> Iterator[Layer]:
    body = shapes.ellipse(p.u, p.v, p.a, p.b)
    yield Layer(body, np.broadcast_to(p.color, (*np.broadcast_shapes(p.u.shape, p.a.shape), 3)), 0.88)
    yield Layer(np.abs(body + 0.5) - 0.5, np.clip(p.color * 0.70, 0, 1), 0.7)
    yield Layer(
        shapes.ellipse(p.u + 0.3 * p.a, p.v + 0.25 * p.b, 0.35 * p.a, 0.25 * p.b), rgb(0.95, 0.98, 1), 0.65
    )


@painter("cloud")
def cloud(p: Brush) -> Iterator[Layer]:
    """Colour that spreads in a liquid."""
    yield Layer(shapes.ellipse(p.u, p.v, p.a, p.b), np.clip(p.color, 0, 1), 0.9, soft=4.0)


@painter("blot")
def blot(p: Brush) -> Iterator[Layer]:
    rim = 1.0 + 0.10 * np.sin(5 * np.arctan2(p.v * 2, p.u) + 1.0)
    yield Layer(shapes.ellipse(p.u, p.v, p.a * rim, p.b * rim), np.clip(p.color * 0.9, 0, 1), 0.95)


@painter("drop")
def drop(p: Brush) -> Iterator[Layer]:
    yield shaded(p, shapes.teardrop(p.u, p.v, p.a, p.b))
    yield Layer(shapes.circle(p.u + 0.3 * p.a, p.v - 0.3 * p.b, 0.25 * p.a), rgb(1, 1, 1), 0.7)


@painter("ice")
def ice(p: Brush) -> Iterator[Layer]:
    body = shapes.box(p.u, p.v, p.a, p.b, 1.6)
    pale = rgb(0.76, 0.90, 0.97)
    yield shaded(p, body, pale)
    facet = np.maximum(np.abs(p.u + p.v * 0.6 + 0.15 * p.a) - 0.14 * p.a, body + 1.4)
    yield Layer(facet, rgb(0.96, 0.99, 1.0), 0.9)
    shade = np.maximum(body + 1.0, 0.35 * p.b - p.v)
    yield Layer(shade, rgb(0.52, 0.74, 0.90), 0.6)


@painter("tray")
def tray(p: Brush) -> Iterator[Layer]:
    """A shallow dish seen a little from above; `level` is how wet it is."""
    yield shaded(p, shapes.trapezoid(p.u, p.v, p.a, p.a * 0.90, p.b))
    floor = shapes.ellipse(p.u, p.v + p.b * 0.55, p.a * 0.94, p.b * 0.55)
    dry = p.color * 0.80
    wet = dry * 0.62 + rgb(0.05, 0.12, 0.20)
    yield Layer(floor, np.clip(dry + (wet - dry) * p.level[..., None], 0, 1))


@painter("cloth")
def cloth(p: Brush) -> Iterator[Layer]:
    """A folded towel; `level` is how far a wet patch has spread from its middle."""
    body = shapes.box(p.u, p.v, p.a, p.b, 2.4)
    weave = 1.0 + 0.07 * np.sign(np.sin(p.u * 1.25))
    yield shaded(p, body, p.color * weave[..., None])
    patch = np.maximum(
        body + 0.5, shapes.ellipse(p.u, p.v, 0.2 + p.a * 0.78 * p.level, 0.2 + p.b * 1.3 * p.level)
    )
    yield Layer(
        patch + 10.0 * (p.level <= 0.02), np.clip(p.color * weave[..., None] * 0.45, 0, 1), 0.92, soft=1.5
    )


@painter("paper")
def paper(p: Brush) -> Iterator[Layer]:
    yield shaded(p, shapes.trapezoid(p.u, p.v, p.a * 0.86, p.a, p.b))
    for k in (-0.4, 0.0, 0.4):
        line = np.maximum(np.abs(p.v - k * p.b) - 0.25, np.abs(p.u) - 0.7 * p.a)
        yield Layer(line, rgb(0.68, 0.74, 0.82), 0.7)


@painter("candle")
def candle(p: Brush) -> Iterator[Layer]:
    yield shaded(p, shapes.box(p.u, p.v, p.a, p.b, 1.0))
    yield Layer(shapes.box(p.u, p.v + p.b + 1.2, 0.5, 1.4), rgb(0.15, 0.13, 0.12))


@painter("flame")
def flame(p: Brush) -> Iterator[Layer]:
    yield Layer(
        shapes.ellipse(p.u, p.v, p.a * 2.3, p.b * 1.6), rgb(1.0, 0.80, 0.35), 0.30, soft=5.0, solid=False
    )
    yield Layer(shapes.teardrop(p.u, p.v, p.a, p.b), rgb(0.98, 0.52, 0.10))
    yield Layer(shapes.teardrop(p.u, p.v - 0.28 * p.b, p.a * 0.55, p.b * 0.6), rgb(1.0, 0.90, 0.45))


@painter("smoke")
def smoke(p: Brush) -> Iterator[Layer]:
    sway = 0.22 * p.a * np.sin(p.v * 0.55)
    for k, size in ((0.75, 0.5), (0.2, 0.75), (-0.5, 1.0)):
        yield Layer(
            shapes.ellipse(p.u - sway, p.v - k * p.b, p.a * size, p.b * 0.5), rgb(0.66, 0.66, 0.68), 0.62, 1.6
        )


@painter("lamp")
def lamp(p: Brush) -> Iterator[Layer]:
    """`look['facing']` is -1 (left) or 1 (right); `level` is how bright the bulb is."""
    s = float(p.look["facing"])
    yield shaded(p, shapes.box(p.u, p.v - p.b + 1.6, p.a * 0.75, 1.7, 1.0))
    yield Layer(shapes.box(p.u, p.v + 0.05 * p.b, 1.0, p.b * 0.88, 0.6), np.clip(p.color * 0.62, 0, 1))
    hu, hv = p.u - s * 2.2, p.v + 0.74 * p.b
    c, d = np.cos(0.9 * s), np.sin(0.9 * s)
    ru, rv = c * hu - d * hv, d * hu + c * hv
    bulb = shapes.circle(ru, rv - 4.0, 2.6)
    unlit, lit = rgb(0.62, 0.60, 0.55), rgb(1.0, 0.96, 0.62)
    yield Layer(bulb, unlit + (lit - unlit) * p.level[..., None])
    yield shaded(p, shapes.trapezoid(ru, rv, 2.6, 5.4, 4.2))


@painter("beam")
def beam(p: Brush) -> Iterator[Layer]:
    """A cone of light from the upper corner towards `look['facing']`, down to the table."""
    s = float(p.look["facing"])
    along = np.clip((s * p.u + p.a) / (2 * p.a), 0, 1)
    middle = -p.b + along * 1.05 * p.b
    half = 2.0 + along * p.b * 0.95
    d = np.maximum(np.abs(p.v - middle) - half, np.abs(p.u) - p.a)
    d = np.maximum(d, p.v - p.b)
    fade = 0.58 - 0.22 * along
    yield Layer(d, rgb(1.0, 0.93, 0.52), fade * p.level, soft=1.5)


@painter("vase")
def vase(p: Brush) -> Iterator[Layer]:
    """`level` is how much light falls on it (0 = none); `look['tint']` with it colours what is seen."""
    body = shapes.ellipse(p.u, p.v - 0.22 * p.b, p.a, p.b * 0.78)
    neck = shapes.trapezoid(p.u, p.v + 0.72 * p.b, p.a * 0.62, p.a * 0.42, p.b * 0.28)
    lit = np.clip(p.color * (1 + 0.55 * p.level[..., None]) + 0.16 * p.level[..., None], 0, 1)
    yield shaded(p, np.minimum(np.maximum(body, p.v - p.b), neck), lit, round_=0.25)


@painter("pane")
def pane(p: Brush) -> Iterator[Layer]:
    """A sheet of coloured glass in a frame: what stands behind it is seen in its colour."""
    sheet = shapes.box(p.u, p.v, p.a, p.b, 1.0)
    yield Layer(sheet, np.clip(p.color, 0, 1), 0.60)
    yield Layer(np.abs(sheet + 0.8) - 0.9, np.clip(p.color * 0.50, 0, 1), 0.95)
    glint = np.maximum(np.abs(p.u + 0.7 * p.v + 0.3 * p.a) - 0.8, sheet + 2.0)
    yield Layer(glint, rgb(1, 1, 1), 0.45)


@painter("sun")
def sun(p: Brush) -> Iterator[Layer]:
    yield Layer(
        shapes.circle(p.u, p.v, p.a * 1.9), rgb(1.0, 0.92, 0.60), 0.45, soft=p.a.max() * 1.2, solid=False
    )
    yield Layer(shapes.circle(p.u, p.v, p.a), rgb(1.0, 0.84, 0.25))
    yield Layer(shapes.circle(p.u, p.v, p.a * 0.6), rgb(1.0, 0.95, 0.60), 0.8)


@painter("shadow")
def shadow(p: Brush) -> Iterator[Layer]:
    """A cast shadow: a wedge that starts at the foot of its post and runs along u; `look['foot']` per frame
    in u."""
    yield Layer(shapes.ellipse(p.u, p.v, p.a, p.b), rgb(0.10, 0.09, 0.12), 0.62, soft=0.8)


@painter("magnet")
def magnet(p: Brush) -> Iterator[Layer]:
    body = shapes.horseshoe(p.u, p.v, p.a, p.b, 4.6)
    yield shaded(p, body)
    yield Layer(np.maximum(body + 0.4, 0.48 * p.b - p.v), rgb(0.86, 0.87, 0.89))


@painter("nail")
def nail(p: Brush) -> Iterator[Layer]:
    """Lies along u; the head is on the left."""
    shaft = shapes.box(p.u - 0.05 * p.a, p.v, p.a * 0.92, p.b * 0.46, 0.5)
    point = np.maximum(shaft, np.abs(p.v) + (p.u - p.a) * 0.35)
    head = shapes.box(p.u + p.a - 1.3, p.v, 1.5, p.b, 0.7)
    yield shaded(p, np.minimum(point, head), rgb(0.64, 0.67, 0.72))


@painter("peg")
def peg(p: Brush) -> Iterator[Layer]:
    body = shapes.box(p.u, p.v, p.a, p.b * 0.8, 1.5)
    grain = 1.0 + 0.10 * np.sin(p.u * 0.9 + 2.0 * np.sin(p.v * 0.8))
    yield shaded(p, body, rgb(0.76, 0.55, 0.31) * grain[..., None])
    yield Layer(shapes.ellipse(p.u + p.a - 1.3, p.v, 1.0, p.b * 0.62), rgb(0.90, 0.74, 0.50))


@painter("tap")
def tap(p: Brush) -> Iterator[Layer]:
    """A pipe from the wall's top, a spout bent down."""
    pipe = shapes.box(p.u, p.v + 0.35 * p.b, p.a, 0.42 * p.b, 1.0)
    spout = shapes.box(p.u - 0.55 * p.a, p.v - 0.35 * p.b, 0.42 * p.a, 0.65 * p.b, 0.8)
    yield shaded(p, np.minimum(pipe, spout))
    knob = shapes.box(p.u + 0.2 * p.a, p.v + 1.15 * p.b, 0.5 * p.a, 0.32 * p.b, 0.6)
    yield shaded(p, knob, np.clip(p.color * 0.7, 0, 1))


@painter("dropper")
def dropper(p: Brush) -> Iterator[Layer]:
    yield Layer(
        shapes.trapezoid(p.u, p.v - 0.35 * p.b, p.a * 0.75, p.a * 0.35, p.b * 0.65),
        rgb(0.84, 0.92, 0.95),
        0.95,
    )
    yield Layer(shapes.trapezoid(p.u, p.v - 0.5 * p.b, p.a * 0.5, p.a * 0.22, p.b * 0.48), p.color, 0.9)
    yield shaded(p, shapes.box(p.u, p.v + 0.62 * p.b, p.a, p.b * 0.38, 1.6), rgb(0.32, 0.30, 0.34))


@painter("book")
def book(p: Brush) -> Iterator[Layer]:
    body = shapes.box(p.u, p.v, p.a, p.b, 0.8)
    yield shaded(p, body)
    for k in (-0.55, 0.6):
        yield Layer(np.maximum(np.abs(p.v - k * p.b) - 0.7, body + 0.8), np.clip(p.color * 0.4 + 0.5, 0, 1))


@painter("cup")
def cup(p: Brush) -> Iterator[Layer]:
    handle = np.abs(shapes.ellipse(p.u - 0.85 * p.a, p.v, p.a * 0.45, p.b * 0.5)) - 1.0
    yield shaded(p, handle)
    yield shaded(p, shapes.trapezoid(p.u + 0.12 * p.a, p.v, p.a * 0.86, p.a * 0.66, p.b), round_=0.2)
    yield Layer(
        shapes.ellipse(p.u + 0.12 * p.a, p.v + 0.86 * p.b, p.a * 0.74, 1.3), np.clip(p.color * 0.42, 0, 1)
    )


@painter("bottle")
def bottle(p: Brush) -> Iterator[Layer]:
    body = shapes.box(p.u, p.v - 0.28 * p.b, p.a, p.b * 0.72, 1.8)
    neck = shapes.box(p.u, p.v + 0.62 * p.b, p.a * 0.42, p.b * 0.38, 0.6)
    yield shaded(p, np.minimum(body, neck), round_=0.2)
    yield Layer(shapes.box(p.u, p.v - 0.35 * p.b, p.a - 0.8, p.b * 0.26), rgb(0.94, 0.92, 0.84))


@painter("plant")
def plant(p: Brush) -> Iterator[Layer]:
    for du, dv, r in ((-0.5, -0.42, 0.5), (0.5, -0.42, 0.5), (0.0, -0.66, 0.62)):
        leaf = shapes.ellipse(p.u - du * p.a, p.v - dv * p.b, p.a * r, p.b * 0.42)
        yield shaded(p, leaf, rgb(0.30, 0.60, 0.30))
    yield shaded(p, shapes.trapezoid(p.u, p.v - 0.58 * p.b, p.a * 0.72, p.a * 0.52, p.b * 0.42))


@painter("apple")
def apple(p: Brush) -> Iterator[Layer]:
    yield shaded(p, shapes.ellipse(p.u, p.v - 0.1 * p.b, p.a, p.b * 0.9), round_=0.4)
    yield Layer(shapes.box(p.u - 0.6, p.v + 0.86 * p.b, 0.6, 0.22 * p.b), rgb(0.36, 0.24, 0.14))
    yield Layer(shapes.ellipse(p.u - 2.2, p.v + 0.88 * p.b, 1.9, 0.9), rgb(0.34, 0.62, 0.30))
