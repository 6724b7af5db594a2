"""How an object gets from one state to the next: typed laws, each a formula of the time u in [0, 1].

At u = 0 an object is exactly where and as the state before has it, at u = 1 exactly as the state after has
it, whatever the law (physplan.graph.laws).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from physplan.graph.errors import ParseError
from physplan.graph.json_values import Limits, read_list, read_number, read_object, read_text
from physplan.graph.text_checks import shorten
from physplan.graph.vocabulary import suggest

Sample = tuple[float, float, float, float]  # time 0..1, right, down (heights of the frame), degrees clockwise
Path = tuple[Sample, ...]
Value = float | str | Path
MOST_SAMPLES = 1000
MAX_DISTANCE = 4.0  # heights of the frame: far enough to leave it


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A number between `low` and `high`, one of `choices`, a `path`, or, with none, the id of an object."""

    means: str
    path: bool = False
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    default: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    name: str
    formula: str
    moves: bool  # along a way; the others say how the object appears, disappears or changes its size
    offered: bool = True  # to a VLM; False for laws whose parameters come from a simulation or a grammar
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


_TO = Parameter(means="the object at whose place a consumed object ends")
_TIMES = {
    "begins": Parameter(means="share of the event before it starts", low=0, high=0.95, default=0.0),
    "ends": Parameter(means="share of the event after which it is done", low=0.05, high=1, default=1.0),
}
_SHIFT = {
    "dx": Parameter(
        means="how far its middle goes right, in heights of the frame", low=-MAX_DISTANCE, high=MAX_DISTANCE
    ),
    "dy": Parameter(
        means="how far its middle goes down, in heights of the frame", low=-MAX_DISTANCE, high=MAX_DISTANCE
    ),
}
_SCALE = Parameter(means="its size after it, as a share of the size before", low=0.02, high=8)
_SPEED = "share of the mean speed that it {} with"


def _law(
    name: str, formula: str, *, moves: bool = True, offered: bool = True, **parameters: Parameter
) -> Law:
    own = {**parameters, "to": _TO, **_SHIFT} if moves else parameters
    known = MappingProxyType({**own, **_TIMES})
    return Law(name=name, formula=formula, moves=moves, offered=offered, parameters=known)


def _number(means: str, low: float, high: float, default: float) -> Parameter:
    return Parameter(means=means, low=low, high=high, default=default)


_LAWS = (
    Law(name="rest", formula="place fixed, look by u", moves=False, parameters=MappingProxyType(_TIMES)),
    _law("linear", "p = u"),
    _law("accelerating", "p = s u + (1 - s) u^2: a fall", speed=_number(_SPEED.format("starts"), 0, 1, 0.0)),
    _law(
        "decelerating",
        "p = s u + (1 - s) (2u - u^2): friction",
        speed=_number(_SPEED.format("ends"), 0, 1, 0.0),
    ),
    _law(
        "projectile",
        "x = x0 + (x1 - x0) u; y = y0 - v t + g t^2 / 2 with the apex `rise` above the start",
        rise=_number("height of the apex above the start, in heights of the frame", 0, 1, 0.0),
        level=_number("share of the time in which it moves level before it flies", 0, 0.95, 0.0),
    ),
    _law(
        "swing",
        "about what it is attached to, p = (1 - cos(pi (2n + 1) u)) / 2",
        returns=_number("how often it swings back, n", 0, 10, 0.0),
    ),
    _law(
        "roll",
        "p = u, or slowing down; turned by the way over the radius",
        slowing=_number("0 for an even speed, 1 for coming to rest", 0, 1, 0.0),
    ),
    _law(
        "tip",
        "turned about its lower edge by `angle` p, p = s u + (1 - s) u^2",
        angle=_number("degrees, clockwise", -180, 180, 90.0),
        speed=_number(_SPEED.format("starts"), 0, 1, 0.0),
    ),
    _law(
        "spin",
        "p = u along the straight way, turned about its middle by `angle` p",
        offered=False,
        angle=_number("degrees, clockwise", -3600, 3600, 360.0),
    ),
    _law(
        "bounce",
        "falls to its end by `drop`, then hops there, each hop `spring` times as high as the one before",
        offered=False,
        spring=_number("height of a hop over the height before it", 0, 0.95, 0.4),
        hops=_number("how many hops", 0, 12, 3.0),
    ),
    _law(
        "flutter",
        "p = u down the way, to and fro across it by `sway` sin(2 pi n u), turned along",
        offered=False,
        sway=_number("how far to either side, in heights of the frame", 0, 1, 0.06),
        times=_number("how often to and fro, n", 0, 20, 2.0),
    ),
    _law(
        "trajectory",
        "place and angle as sampled: start + path(u); between samples on a straight line",
        offered=False,
        path=Parameter(
            means="samples [time from 0 to 1, right, down (heights of the frame), degrees clockwise]",
            path=True,
        ),
        by=Parameter(means="where the samples come from", choices=("simulation", "hand"), default="hand"),
    ),
    _law("grow", "size = u; from the old size to the new", moves=False, scale=_SCALE),
    _law("shrink", "size = 1 - u; from the old size to the new", moves=False, scale=_SCALE),
    _law("fade", "opacity = u or 1 - u; from the old look to the new", moves=False),
    _law("spread", "size = sqrt(u), as what diffuses", moves=False),
    _law(
        "pour",
        "down: the lower end falls, (u / reach)^2; up: the surface rises, u",
        moves=False,
        way=Parameter(means="where it runs", choices=("down", "up"), default="down"),
        reach=_number("share of the time until the stream arrives", 0.05, 1, 0.3),
    ),
)
LAWS: Mapping[str, Law] = MappingProxyType({law.name: law for law in _LAWS})


@dataclass(frozen=True, slots=True)
class Motion:
    """The object `o` follows `law`. It may say anything: whether it fits the event, `check_motion` says."""

    o: str
    law: str
    parameters: tuple[tuple[str, Value], ...] = ()  # sorted by name

    def get(self, name: str) -> Value:
        given = dict(self.parameters).get(name)
        default = LAWS[self.law].parameters[name].default
        return given if given is not None else default if default is not None else ""

    def number(self, name: str) -> float:
        value = self.get(name)
        assert not isinstance(value, tuple)
        return float(value)

    @property
    def path(self) -> Path:
        """The samples of a trajectory, from the time 0 to 1; none for any other law."""
        value = dict(self.parameters).get("path", ())
        return value if isinstance(value, tuple) else ()

    @property
    def shift(self) -> tuple[float, float] | None:
        """How far the object's middle goes (right, down), in heights of the frame, where the plan says it."""
        if self.path:
            return self.path[-1][1], self.path[-1][2]
        given = dict(self.parameters)
        if "dx" not in given and "dy" not in given:
            return None
        dx, dy = given.get("dx", 0.0), given.get("dy", 0.0)
        return (dx, dy) if isinstance(dx, float | int) and isinstance(dy, float | int) else None

    def to_json(self) -> dict[str, Any]:
        values = {n: [list(s) for s in v] if isinstance(v, tuple) else v for n, v in self.parameters}
        return {"o": self.o, "law": self.law, **values}

    def __str__(self) -> str:
        told = ((n, f"of {len(v)} samples" if isinstance(v, tuple) else v) for n, v in self.parameters)
        given = "".join(f", {name} {value}" for name, value in told)
        return f"{self.o}: {self.law}{given}"


def motion(o: str, law: str, **parameters: Value) -> Motion:
    return Motion(o, law, tuple(sorted(parameters.items())))


def motions_from_json(value: object, *, limits: Limits = Limits.FILE, at: str = "$") -> tuple[Motion, ...]:
    """An event's `motion`: [{"o": ..., "law": ..., parameters}]. Unknown laws are left to the checks."""
    entries = read_list(value, at, limits.max_nodes)
    return tuple(_motion_from_json(entry, limits, f"{at}[{i}]") for i, entry in enumerate(entries))


def _motion_from_json(value: object, limits: Limits, at: str) -> Motion:
    fields = read_object(value, at)
    for name in ("o", "law"):
        if name not in fields:
            raise ParseError(at, f"lacks the field {name!r}: add it")
        read_text(fields[name], f"{at}.{name}", limits.max_value)
    given: dict[str, Value] = {}
    for name, entry in fields.items():
        if name not in ("o", "law"):
            read_text(name, at, limits.max_value)
            here = f"{at}.{name}"
            if isinstance(entry, str):
                given[name] = read_text(entry, here, limits.max_value)
            elif isinstance(entry, list):
                given[name] = _path_from_json(entry, here)
            else:
                given[name] = read_number(entry, here)
    return motion(fields["o"], fields["law"], **given)


def _path_from_json(value: object, at: str) -> Path:
    samples: list[Sample] = []
    for i, entry in enumerate(read_list(value, at, MOST_SAMPLES)):
        numbers = [read_number(n, f"{at}[{i}]") for n in read_list(entry, f"{at}[{i}]", 4)]
        if len(numbers) != 4:
            raise ParseError(f"{at}[{i}]", "needs four numbers: time, right, down, degrees clockwise")
        samples.append((numbers[0], numbers[1], numbers[2], numbers[3]))
    return tuple(samples)


def motions_to_json(motions: Sequence[Motion]) -> list[dict[str, Any]]:
    return [entry.to_json() for entry in motions]


def parameter_problem(law: Law, name: str, value: Value) -> str | None:
    """What is wrong with one parameter; objects are for the checks to look up."""
    known = law.parameters.get(name)
    if known is None:
        return f"{law.name} has no parameter {shorten(name)}; {suggest(name[:80], law.parameters)}"
    if known.path:
        return _path_problem(name, value)
    if known.low is not None and known.high is not None:
        if isinstance(value, str | tuple) or not known.low <= value <= known.high:
            return f"{name} must be a number from {known.low:g} to {known.high:g}, not {value!r}"
    elif known.choices and value not in known.choices:
        return f"{name} must be one of {', '.join(known.choices)}, not {value!r}"
    elif not isinstance(value, str):
        return f"{name} must be the id of an object, not {value!r}"
    return None


def _path_problem(name: str, value: Value) -> str | None:
    if not isinstance(value, tuple) or len(value) < 2:
        return f"{name} must be a list of at least two samples [time, right, down, degrees]"
    times = [sample[0] for sample in value]
    if times[0] != 0 or times[-1] != 1 or any(b <= a for a, b in pairwise(times)):
        return f"{name} must begin at the time 0, end at 1 and go forward in between"
    if value[0][1:] != (0, 0, 0):
        return f"{name} must begin at the object's place: the first sample is [0, 0, 0, 0]"
    if any(abs(place) > MAX_DISTANCE for sample in value for place in sample[1:3]):
        return f"{name} must stay within {MAX_DISTANCE:g} heights of the frame"
    return None
