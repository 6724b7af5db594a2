"""Outlines become rigid bodies, supports become ground; out comes a sampled trajectory for each body.

Units are heights of the frame and seconds, y downwards. Outlines are convex hulls, which keeps a cup's handle
from catching on things that stand before or behind it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pymunk
from pymunk.autogeometry import to_convex_hull

from physplan.graph.motion import MAX_DISTANCE, Path
from physplan_photo.graph.layout import Mask

GRAVITY = 2.6  # heights of the frame per second squared: slow enough to be watched
TIME_STEP = 1 / 480
UNITS_PER_HEIGHT = 100.0  # pymunk's tolerances are made for units of about a pixel
OUTLINE_TOLERANCE = 0.004  # heights of the frame: outlines are simplified by this much
TOUCHING_GAP = 0.02
MAX_SECONDS = 6.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """`outline` is a polygon; a body without `moves` stays where it is. `spin` is in degrees a second."""

    outline: tuple[tuple[float, float], ...]
    moves: bool = True
    velocity: tuple[float, float] = (0.0, 0.0)
    spin: float = 0.0
    elasticity: float = 0.15
    friction: float = 0.7
    round: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A level line on which things come to lie, from `left` to `right`."""

    y: float
    left: float = -4.0
    right: float = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Paths by body, the pairs that touch at the end ("floor" is one of the names), and how long it took."""

    paths: Mapping[str, Path]
    touching: frozenset[frozenset[str]] = field(default_factory=frozenset)
    seconds: float = 0.0

    def turned(self, id: str) -> float:
        return self.paths[id][-1][3]

    def touch(self, a: str, b: str) -> bool:
        return frozenset((a, b)) in self.touching


def outline_of(mask: Mask) -> tuple[tuple[float, float], ...]:
    """The convex outline of a mask, simplified."""
    height = len(mask)
    points: list[tuple[float, float]] = []
    for y in np.flatnonzero(mask.any(1)):
        columns = np.flatnonzero(mask[y])
        points += [(float(columns[0]), float(y)), (float(columns[-1] + 1), float(y))]
        points += [(float(columns[0]), float(y + 1)), (float(columns[-1] + 1), float(y + 1))]
    hull = to_convex_hull(points, OUTLINE_TOLERANCE * height)
    return tuple((x / height, y / height) for x, y in hull)


def is_round(mask: Mask) -> bool:
    """Whether an outline is about a disk: as wide as high, and filled as a circle fills its box."""
    rows, columns = mask.any(1).sum(), mask.any(0).sum()
    return bool(0.8 < columns / rows < 1.25 and 0.7 < mask.sum() / (rows * columns) < 0.86)


def simulate(
    bodies: Mapping[str, Body],
    *,
    floor: Floor | None,
    seconds: float = MAX_SECONDS,
    samples: int = 48,
    gravity: float = GRAVITY,
) -> Simulated:
    """Let go until everything rests or `seconds` have passed. The same bodies give the same paths."""
    space = pymunk.Space()
    space.gravity = (0.0, gravity * UNITS_PER_HEIGHT)
    space.iterations = 30
    shapes: dict[str, pymunk.Shape] = {}
    made: dict[str, pymunk.Body] = {}
    for id, body in bodies.items():
        shapes[id], made[id] = _added(space, body)
    if floor is not None:
        line = pymunk.Segment(
            space.static_body,
            (floor.left * UNITS_PER_HEIGHT, floor.y * UNITS_PER_HEIGHT),
            (floor.right * UNITS_PER_HEIGHT, floor.y * UNITS_PER_HEIGHT),
            0.0,
        )
        line.friction, line.elasticity = 0.8, 1.0
        space.add(line)
        shapes["floor"] = line
    moving = [id for id, body in bodies.items() if body.moves]
    starts = {id: tuple(made[id].position) for id in moving}
    states: list[dict[str, tuple[float, float, float]]] = []
    times: list[float] = []
    still = 0
    for step in range(round(seconds / TIME_STEP)):
        if step % 4 == 0:
            states.append({id: _state(made[id], starts[id]) for id in moving})
            times.append(step * TIME_STEP)
        space.step(TIME_STEP)
        rests = all(_rests(made[id]) or _away(states[-1][id]) for id in moving)
        still = still + 1 if rests else 0
        if still > 0.15 / TIME_STEP:
            break
    states.append({id: _state(made[id], starts[id]) for id in moving})
    times.append(times[-1] + TIME_STEP)
    paths = {id: _path([state[id] for state in states], times, samples) for id in moving}
    return Simulated(paths=paths, touching=_touching(shapes), seconds=times[-1])


def _added(space: pymunk.Space, body: Body) -> tuple[pymunk.Shape, pymunk.Body]:
    points = [(x * UNITS_PER_HEIGHT, y * UNITS_PER_HEIGHT) for x, y in body.outline]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    middle = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    local = [(x - middle[0], y - middle[1]) for x, y in points]
    shape: pymunk.Shape
    if body.round:
        radius = (max(xs) - min(xs) + max(ys) - min(ys)) / 4
        mass = math.pi * radius * radius
        made = pymunk.Body(mass, pymunk.moment_for_circle(mass, 0, radius))
        shape = pymunk.Circle(made, radius)
    else:
        area = max(abs(pymunk.area_for_poly(local)), 1.0)
        made = pymunk.Body(area, pymunk.moment_for_poly(area, local))
        shape = pymunk.Poly(made, local, radius=0.05)
        made.center_of_gravity = shape.center_of_gravity
        if not body.moves:
            made.body_type = pymunk.Body.STATIC
    if body.round and not body.moves:
        made.body_type = pymunk.Body.STATIC
    made.position = middle
    made.velocity = (body.velocity[0] * UNITS_PER_HEIGHT, body.velocity[1] * UNITS_PER_HEIGHT)
    made.angular_velocity = math.radians(body.spin)
    shape.elasticity, shape.friction = body.elasticity, body.friction
    space.add(made, shape)
    return shape, made


def _state(body: pymunk.Body, start: Sequence[float]) -> tuple[float, float, float]:
    x, y = body.position
    return (x - start[0]) / UNITS_PER_HEIGHT, (y - start[1]) / UNITS_PER_HEIGHT, math.degrees(body.angle)


def _rests(body: pymunk.Body) -> bool:
    return bool(body.velocity.length < 0.012 * UNITS_PER_HEIGHT and abs(body.angular_velocity) < 0.06)


def _away(state: tuple[float, float, float]) -> bool:
    return max(abs(state[0]), abs(state[1])) > MAX_DISTANCE * 0.6


def _touching(shapes: Mapping[str, pymunk.Shape]) -> frozenset[frozenset[str]]:
    names = list(shapes)
    found = set()
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            shapes[a].cache_bb()
            shapes[b].cache_bb()
            near = shapes[a].bb.intersects(shapes[b].bb) or _close(shapes[a], shapes[b])
            if near:
                found.add(frozenset((a, b)))
    return frozenset(found)


def _close(a: pymunk.Shape, b: pymunk.Shape) -> bool:
    one, two = a.bb, b.bb
    across = max(one.left - two.right, two.left - one.right)
    down = max(one.bottom - two.top, two.bottom - one.top)
    return max(across, down) < TOUCHING_GAP * UNITS_PER_HEIGHT


def _path(states: Sequence[tuple[float, float, float]], times: Sequence[float], samples: int) -> Path:
    """Evenly sampled, from the time 0 to 1; what goes too far stays at the limit."""
    wanted = np.linspace(0.0, times[-1], samples + 1)
    columns = [np.interp(wanted, times, [state[k] for state in states]) for k in range(3)]
    limit = MAX_DISTANCE
    return tuple(
        (
            round(i / samples, 5),
            round(float(np.clip(columns[0][i], -limit, limit)), 5),
            round(float(np.clip(columns[1][i], -limit, limit)), 5),
            round(float(columns[2][i]), 3),
        )
        for i in range(samples + 1)
    )
