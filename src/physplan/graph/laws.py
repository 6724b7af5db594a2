"""Where an object is on its way between two states, and how it looks: the formulas of the laws of motion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from physplan.graph.motion import LAWS, Motion, Path

Point = tuple[float, float]  # in heights of the frame, y downwards
Phase = Literal["change", "arrive", "leave"]  # in both states; only in the later one; only in the earlier one

FLUTTER_TILT = 25.0  # degrees to either side
SMALLEST_RADIUS = 1e-6  # a thing without extent does not turn as it rolls


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """From where to where an object goes; what it turns about and its radius, where a law needs them."""

    start: Point
    end: Point
    pivot: Point | None = None
    radius: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An object at one time between two states."""

    place: Point
    progress: float  # 0: look and size of the state before, 1: of the state after
    angle: float = 0.0  # degrees clockwise since the state before
    size: float = 1.0  # share of its width and height that there is
    opacity: float = 1.0
    shown: tuple[float, float] = (0.0, 1.0)  # the part to be seen, from top to bottom


def moment(motion: Motion, way: Way, u: float, phase: Phase = "change") -> Moment:
    """The object at time u of its event."""
    begins, ends = motion.number("begins"), motion.number("ends")
    u = min(max((u - begins) / max(ends - begins, 1e-9), 0.0), 1.0)
    if LAWS[motion.law].moves:
        progress, angle = _progress(motion, way, u)
        there = 0.0 if (phase == "leave" and u >= 1) or (phase == "arrive" and u <= 0) else 1.0
        place = _place(motion, way, u, progress)
        return Moment(place=place, progress=progress, angle=angle, opacity=there)
    place = way.end if phase == "arrive" else way.start if phase == "leave" else _between(way, u)
    progress = math.sqrt(u) if motion.law == "spread" else u
    there = progress if phase == "arrive" else 1 - progress
    if phase == "change" or motion.law == "rest":
        return Moment(place=place, progress=progress)
    if motion.law == "fade":
        return Moment(place=place, progress=progress, opacity=there)
    if motion.law == "pour":
        return Moment(place=place, progress=progress, shown=_poured(motion, u, phase))
    return Moment(place=place, progress=progress, size=there)


def _progress(motion: Motion, way: Way, u: float) -> tuple[float, float]:
    """How far along, and turned by how much."""
    if motion.law == "accelerating":
        speed = motion.number("speed")
        return speed * u + (1 - speed) * u * u, 0.0
    if motion.law == "decelerating":
        speed = motion.number("speed")
        return speed * u + (1 - speed) * u * (2 - u), 0.0
    if motion.law == "roll":
        slowing = motion.number("slowing")
        p = (1 - slowing) * u + slowing * u * (2 - u)
        along = way.end[0] - way.start[0]
        rolls = way.radius > SMALLEST_RADIUS
        turned = math.copysign(math.dist(way.start, way.end), along) / way.radius if rolls else 0.0
        return p, math.degrees(turned) * p
    if motion.law == "swing":
        p = (1 - math.cos(math.pi * (2 * round(motion.number("returns")) + 1) * u)) / 2
        return p, math.degrees(_arc(way)[1]) * p if way.pivot else 0.0
    if motion.law == "tip":
        speed = motion.number("speed")
        p = speed * u + (1 - speed) * u * u
        return p, motion.number("angle") * p
    if motion.law == "spin":
        return u, motion.number("angle") * u
    if motion.law == "flutter":
        swings = 2 * math.pi * motion.number("times")
        return u, FLUTTER_TILT * math.sin(swings * u) * math.sin(math.pi * u)
    if motion.law == "trajectory":
        return u, sampled(motion.path, u)[2]
    return u, 0.0


def sampled(path: Path, u: float) -> tuple[float, float, float]:
    """Right, down and degrees of a trajectory at the time u, on straight lines between its samples."""
    if not path:
        return 0.0, 0.0, 0.0
    after = next((i for i, sample in enumerate(path) if sample[0] >= u), len(path) - 1)
    if after == 0:
        return path[0][1:]
    (t0, *start), (t1, *end) = path[after - 1], path[after]
    share = min(max((u - t0) / max(t1 - t0, 1e-9), 0.0), 1.0)
    x, y, angle = (a + (b - a) * share for a, b in zip(start, end, strict=True))
    return x, y, angle


def _place(motion: Motion, way: Way, u: float, p: float) -> Point:
    if u <= 0 or u >= 1:
        return way.start if u <= 0 else way.end
    if motion.law == "projectile":
        return _flight(way, u, motion.number("rise"), motion.number("level"))
    if motion.law == "trajectory":
        (x, y, _), (x1, y1, _) = sampled(motion.path, u), sampled(motion.path, 1.0)
        dx, dy = (way.end[k] - way.start[k] for k in (0, 1))
        return way.start[0] + x + (dx - x1) * u, way.start[1] + y + (dy - y1) * u
    if motion.law == "bounce":
        return _bouncing(way, u, motion.number("spring"), round(motion.number("hops")))
    if motion.law == "flutter":
        x, y = _between(way, u)
        across = math.sin(2 * math.pi * motion.number("times") * u) * math.sin(math.pi * u)
        return x + motion.number("sway") * across, y
    if motion.law == "swing" and way.pivot:
        (radius, start), turn = _arc(way)
        reach = radius + (math.dist(way.pivot, way.end) - radius) * p
        return (
            way.pivot[0] + reach * math.cos(start + turn * p),
            way.pivot[1] + reach * math.sin(start + turn * p),
        )
    if motion.law == "tip" and way.pivot:
        whole = motion.number("angle")
        here, there = (_turned(way.start, way.pivot, whole * share) for share in (p, 1.0))
        # What is left between the turned start and the given end is made up on the way.
        return here[0] + (way.end[0] - there[0]) * p, here[1] + (way.end[1] - there[1]) * p
    return _between(way, p)


def _between(way: Way, p: float) -> Point:
    if p <= 0 or p >= 1:
        return way.start if p <= 0 else way.end
    return way.start[0] + (way.end[0] - way.start[0]) * p, way.start[1] + (way.end[1] - way.start[1]) * p


def _flight(way: Way, u: float, rise: float, level: float) -> Point:
    """y = y0 - v t + g t^2 / 2: of all parabolas from start to end the one whose apex is `rise` above."""
    (x0, y0), (x1, y1) = way.start, way.end
    x = x0 + (x1 - x0) * u
    if u <= level:
        return x, y0
    t, drop = (u - level) / (1 - level), y1 - y0
    rise = max(rise, -drop)  # it must at least reach its end
    root = math.sqrt(2 * rise) + math.sqrt(max(2 * rise + 2 * drop, 0.0))  # of g, from v^2 = 2 g rise
    return x, y0 - root * math.sqrt(2 * rise) * t + root * root * t * t / 2


def _bouncing(way: Way, u: float, spring: float, hops: int) -> Point:
    """A fall under gravity to the end's height, then hops whose heights shrink by `spring`; x even."""
    (x0, y0), (x1, y1) = way.start, way.end
    drop = y1 - y0
    flights = [1.0] + [2 * spring ** (k / 2) for k in range(1, hops + 1)]  # times, in times of the fall
    t = u * sum(flights)
    x = x0 + (x1 - x0) * u
    for k, lasting in enumerate(flights):
        if t <= lasting or k == hops:
            if k == 0:
                return x, y0 + drop * min(t, 1.0) ** 2
            height = drop * spring**k
            return x, y1 - height * (1 - (2 * t / lasting - 1) ** 2)
        t -= lasting
    return x, y1


def _arc(way: Way) -> tuple[tuple[float, float], float]:
    """Radius and angle of the start about the pivot, and the shorter turn from there to the end."""
    assert way.pivot is not None
    start, end = (math.atan2(y - way.pivot[1], x - way.pivot[0]) for x, y in (way.start, way.end))
    turn = (end - start + math.pi) % (2 * math.pi) - math.pi
    return (math.dist(way.pivot, way.start), start), turn


def _turned(point: Point, about: Point, degrees: float) -> Point:
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x, y = point[0] - about[0], point[1] - about[1]
    return about[0] + cosine * x - sine * y, about[1] + sine * x + cosine * y


def _poured(motion: Motion, u: float, phase: Phase) -> tuple[float, float]:
    if motion.get("way") == "up":
        return (1 - u, 1.0) if phase == "arrive" else (u, 1.0)
    reach = motion.number("reach")
    if phase == "arrive":
        return 0.0, min(1.0, u / reach) ** 2
    return max(0.0, (u - 1 + reach) / reach) ** 2, 1.0
