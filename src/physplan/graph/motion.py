"""How an object gets from one state to the next: typed laws, each a formula of the time u in [0, 1].

At u = 0 an object is exactly where and as the state before has it, at u = 1 exactly as the state after has
it, whatever the law (physplan.graph.laws).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from physplan.graph.errors import ParseError
from physplan.graph.json_values import Limits, read_list, read_number, read_object, read_text
from physplan.graph.text import shorten
from physplan.graph.vocabulary import suggest

Value = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A number between `low` and `high`, one of `choices`, or, with neither, the id of an object."""

    means: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    default: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    name: str
    formula: str
    moves: bool  # along a way; the others say how the object appears, disappears or changes its size
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


_TO = Parameter(means="the object at whose place a consumed object ends")
_TIMES = {
    "begins": Parameter(means="share of the event before it starts", low=0, high=0.95, default=0.0),
    "ends": Parameter(means="share of the event after which it is done", low=0.05, high=1, default=1.0),
}
_SPEED = "share of the mean speed that it {} with"


def _law(name: str, formula: str, *, moves: bool, **parameters: Parameter) -> Law:
    own = {**parameters, "to": _TO} if moves else parameters
    return Law(name=name, formula=formula, moves=moves, parameters=MappingProxyType({**own, **_TIMES}))


def _number(means: str, low: float, high: float, default: float) -> Parameter:
    return Parameter(means=means, low=low, high=high, default=default)


_LAWS = (
    Law(name="rest", formula="place fixed, look by u", moves=False, parameters=MappingProxyType(_TIMES)),
    _law("linear", "p = u", moves=True),
    _law(
        "accelerating",
        "p = s u + (1 - s) u^2: a fall",
        moves=True,
        speed=_number(_SPEED.format("starts"), 0, 1, 0.0),
    ),
    _law(
        "decelerating",
        "p = s u + (1 - s) (2u - u^2): friction",
        moves=True,
        speed=_number(_SPEED.format("ends"), 0, 1, 0.0),
    ),
    _law(
        "projectile",
        "x = x0 + (x1 - x0) u; y = y0 - v t + g t^2 / 2 with the apex `rise` above the start",
        moves=True,
        rise=_number("height of the apex above the start, in heights of the frame", 0, 1, 0.0),
        level=_number("share of the time in which it moves level before it flies", 0, 0.95, 0.0),
    ),
    _law(
        "swing",
        "about what it is attached to, p = (1 - cos(pi (2n + 1) u)) / 2",
        moves=True,
        returns=_number("how often it swings back, n", 0, 10, 0.0),
    ),
    _law(
        "roll",
        "p = u, or slowing down; turned by the way over the radius",
        moves=True,
        slowing=_number("0 for an even speed, 1 for coming to rest", 0, 1, 0.0),
    ),
    _law(
        "tip",
        "turned about its lower edge by `angle` p, p = s u + (1 - s) u^2",
        moves=True,
        angle=_number("degrees, clockwise", -180, 180, 90.0),
        speed=_number(_SPEED.format("starts"), 0, 1, 0.0),
    ),
    _law("grow", "size = u; from the old size to the new", moves=False),
    _law("shrink", "size = 1 - u; from the old size to the new", moves=False),
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
        return float(self.get(name))

    def to_json(self) -> dict[str, Any]:
        return {"o": self.o, "law": self.law, **dict(self.parameters)}

    def __str__(self) -> str:
        given = "".join(f", {name} {value}" for name, value in self.parameters)
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
            given[name] = (
                read_text(entry, here, limits.max_value)
                if isinstance(entry, str)
                else read_number(entry, here)
            )
    return motion(fields["o"], fields["law"], **given)


def motions_to_json(motions: Sequence[Motion]) -> list[dict[str, Any]]:
    return [entry.to_json() for entry in motions]


def parameter_problem(law: Law, name: str, value: Value) -> str | None:
    """What is wrong with one parameter; objects are for the checks to look up."""
    known = law.parameters.get(name)
    if known is None:
        return f"{law.name} has no parameter {shorten(name)}; {suggest(name[:80], law.parameters)}"
    if known.low is not None and known.high is not None:
        if isinstance(value, str) or not known.low <= value <= known.high:
            return f"{name} must be a number from {known.low:g} to {known.high:g}, not {value!r}"
    elif known.choices and value not in known.choices:
        return f"{name} must be one of {', '.join(known.choices)}, not {value!r}"
    elif not isinstance(value, str):
        return f"{name} must be the id of an object, not {value!r}"
    return None
