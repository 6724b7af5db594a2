"""Rigid bodies by pymunk: a flat table, some fixed things, some moving ones; poses once per frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymunk

from physplan_sandbox.world.render import BEATS_PER_FRAME, FRAMES
from physplan_sandbox.world.sprites import Array, Value

GRAVITY = 1.7  # world units per beat squared
SUBSTEPS = 12
SPRING, DAMPING = 0.35, 0.75  # of a hinged beam: what levels it, and what slows it


@dataclass(frozen=True, kw_only=True)
class Body:
    """A ball (`w` = `h` = its diameter) or a box, at its centre. Fixed boxes may stand askew (`angle`)."""

    x: float
    y: float
    w: float
    h: float
    ball: bool = False
    mass: float = 1.0
    friction: float = 0.7
    bounce: float = 0.15
    velocity: tuple[float, float] = (0.0, 0.0)
    drag: float = 0.0  # share of the velocity lost per beat
    angle: float = 0.0  # of a fixed box, clockwise


def round_body(x: float, y: float, r: float, **more: Any) -> Body:
    """A ball of radius `r`."""
    return Body(x=x, y=y, w=2 * r, h=2 * r, ball=True, **more)


def standing(x: float, ground: float, w: float, h: float, **more: Any) -> Body:
    """A box on the line `ground`."""
    return Body(x=x, y=ground - h / 2, w=w, h=h, **more)


@dataclass(frozen=True)
class Poses:
    """Where a body is and how it is turned: one value per frame, or one for all."""

    x: Value
    y: Value
    angle: Value


def simulate(
    bodies: Sequence[Body],
    *,
    ground: float,
    fixed: Sequence[Body] = (),
    start: float = 1.0,
    push: Callable[[list[pymunk.Body]], None] | None = None,
    pace: float = 1.0,
    frames: int = FRAMES,
) -> list[Poses]:
    """The poses of `bodies` in every frame; nothing moves before beat `start`, when `push` is applied."""
    first = round(start / BEATS_PER_FRAME)
    space = pymunk.Space()
    space.gravity = (0.0, GRAVITY)
    space.iterations = 20
    floor = pymunk.Segment(space.static_body, (-400, ground + 20), (400, ground + 20), 20.0)
    floor.friction, floor.elasticity = 0.8, 0.4
    space.add(floor)
    for body in fixed:
        shape = _shape(body, space.static_body, offset=(body.x, body.y))
        space.add(shape)
    moving = [_add(space, body) for body in bodies]
    poses = np.zeros((frames, len(bodies), 3), dtype=np.float32)
    for frame in range(frames):
        for k, live in enumerate(moving):
            poses[frame, k] = (*live.position, live.angle)
        if frame + 1 < first:
            continue
        if frame + 1 == first:
            for live, spec in zip(moving, bodies, strict=True):
                live.velocity = spec.velocity
            if push is not None:
                push(moving)
        for _ in range(SUBSTEPS):
            space.step(BEATS_PER_FRAME / (SUBSTEPS * pace))
        for live, spec in zip(moving, bodies, strict=True):
            if spec.drag:
                live.velocity = (live.velocity[0] * (1 - spec.drag) ** BEATS_PER_FRAME, live.velocity[1])
                live.angular_velocity *= (1 - spec.drag) ** BEATS_PER_FRAME
    return [Poses(*(poses[:, k, c] for c in range(3))) for k in range(len(bodies))]


def swing(torque: Callable[[int], float], *, limit: float, start: float, pace: float = 1.0) -> Array:
    """The angle in every frame of a beam on a hinge between two stops at +-limit; at rest at `start`.

    `torque` gives the moment of what lies on it, clockwise, in units of the beam's inertia, frame by frame.
    """
    space = pymunk.Space()
    beam = pymunk.Body(1.0, 1.0)
    beam.angle = start
    space.add(beam, pymunk.PivotJoint(space.static_body, beam, (0.0, 0.0)))
    space.add(pymunk.RotaryLimitJoint(space.static_body, beam, -limit, limit))
    space.add(pymunk.DampedRotarySpring(space.static_body, beam, 0.0, SPRING, DAMPING))
    angles = np.zeros(FRAMES, dtype=np.float32)
    for frame in range(FRAMES):
        angles[frame] = np.clip(beam.angle, -limit, limit)
        for _ in range(SUBSTEPS):
            beam.torque = torque(frame)
            space.step(BEATS_PER_FRAME / (SUBSTEPS * pace))
    return angles


def _add(space: pymunk.Space, spec: Body) -> pymunk.Body:
    radius = 0.5 * spec.w
    moment = (
        pymunk.moment_for_circle(spec.mass, 0, radius)
        if spec.ball
        else pymunk.moment_for_box(spec.mass, (spec.w, spec.h))
    )
    body = pymunk.Body(spec.mass, moment)
    body.position = (spec.x, spec.y)
    space.add(body, _shape(spec, body))
    return body


def _shape(spec: Body, body: pymunk.Body, offset: tuple[float, float] = (0.0, 0.0)) -> pymunk.Shape:
    shape: pymunk.Shape
    if spec.ball:
        shape = pymunk.Circle(body, 0.5 * spec.w, offset)
    else:
        a, b = 0.5 * spec.w, 0.5 * spec.h
        c, s = math.cos(spec.angle), math.sin(spec.angle)
        corners = [
            (offset[0] + c * u - s * v, offset[1] + s * u + c * v)
            for u, v in ((-a, -b), (a, -b), (a, b), (-a, b))
        ]
        shape = pymunk.Poly(body, corners)
    shape.friction, shape.elasticity = spec.friction, spec.bounce
    return shape
