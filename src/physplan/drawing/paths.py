"""How an object moves, drawn small: its way through the picture, or how much of it there is over time."""

from __future__ import annotations

from physplan.drawing.shapes import Line, Point
from physplan.graph.laws import Way, moment
from physplan.graph.motion import LAWS, Motion, motion

WIDTH, HEIGHT = 42.0, 14.0
PATH_SAMPLES = 17


def draw_path(moving: Motion, left: float, top: float, stroke: str) -> Line:
    """An arrow inside a box of WIDTH x HEIGHT; dashed where nothing travels and only size or look changes."""
    points = path_points(moving)
    placed = tuple((left + WIDTH * x, top + HEIGHT * y) for x, y in points)
    travels = LAWS[moving.law].moves
    return Line(points=placed, stroke=stroke, width=1.6, dash=None if travels else (2, 2), arrow=travels)


def path_points(moving: Motion) -> tuple[Point, ...]:
    """The shape of the law in the unit square, whatever the scene's own places are."""
    shape = motion(
        moving.o, moving.law, **{k: v for k, v in moving.parameters if k not in ("begins", "ends")}
    )
    times = [k / (PATH_SAMPLES - 1) for k in range(PATH_SAMPLES)]
    if moving.law == "rest":
        return (0.0, 0.5), (1.0, 0.5)
    way = Way(start=(0.0, 0.4), end=(1.0, 1.0), pivot=(0.5, 0.1), radius=0.2)
    if moving.law == "tip":
        shape, way = motion(moving.o, "tip", angle=90.0), Way(start=(0, 0), end=(1, 1), pivot=(0, 1))
    moments = [moment(shape, way, u, "arrive") for u in times]
    if LAWS[moving.law].moves and moving.law in (
        "projectile",
        "swing",
        "tip",
        "trajectory",
        "bounce",
        "flutter",
    ):
        return _fitted([m.place for m in moments])
    # Along a straight way the path looks the same for every law: distance over time tells them apart.
    return _fitted([(u, 1 - m.progress) for u, m in zip(times, moments, strict=True)])


def _fitted(points: list[Point]) -> tuple[Point, ...]:
    low, high = ([f(p[axis] for p in points) for axis in (0, 1)] for f in (min, max))
    span = [max(high[axis] - low[axis], 1e-6) for axis in (0, 1)]
    return tuple(((x - low[0]) / span[0], (y - low[1]) / span[1]) for x, y in points)
