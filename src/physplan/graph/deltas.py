"""Physical deltas: what changes in an event, to what, by which rule, and for how long (section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from physplan.graph.errors import InvalidDelta
from physplan.graph.json_values import Limits, located, read_list, read_number, read_object, read_text
from physplan.graph.text_checks import identifier_problem, require_text


@dataclass(frozen=True, slots=True)
class NewObject:
    """An object that comes into existence, and the one it comes from."""

    id: str
    source: str

    def __post_init__(self) -> None:
        for what, value in (("id", self.id), ("source", self.source)):
            if problem := identifier_problem(value):
                raise InvalidDelta(f"the {what} of a new object {problem}")

    def to_json(self) -> dict[str, str]:
        return {"id": self.id, "source": self.source}


@dataclass(frozen=True, slots=True)
class StateChange:
    """One entry (o, s_o, r_o): an object, its new state in words, and the rule that produces it."""

    object: str
    state: str
    rule: str
    new_object: NewObject | None = None

    def __post_init__(self) -> None:
        if problem := identifier_problem(self.object):
            raise InvalidDelta(f"the object of a state {problem}")
        require_text(self.state, f"the state of {self.object}", InvalidDelta)
        require_text(self.rule, f"the rule of {self.object}", InvalidDelta)

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"object": self.object, "state": self.state, "rule": self.rule}
        return value if self.new_object is None else {**value, "new_object": self.new_object.to_json()}

    @classmethod
    def from_json(cls, value: Any, *, limits: Limits = Limits.FILE, at: str = "$") -> StateChange:
        fields = read_object(value, at, ("object", "state", "rule"), ("new_object",))
        read_text(fields["object"], f"{at}.object", limits.max_value)
        for name in ("state", "rule"):
            read_text(fields[name], f"{at}.{name}", limits.max_text)
        new = fields.get("new_object")
        if new is not None:
            new = read_object(new, f"{at}.new_object", ("id", "source"))
            for name in ("id", "source"):
                read_text(new[name], f"{at}.new_object.{name}", limits.max_value)
        with located(at):
            new_object = None if new is None else NewObject(new["id"], new["source"])
            return cls(fields["object"], fields["state"], fields["rule"], new_object)


@dataclass(frozen=True, slots=True)
class PhysicalDelta:
    """delta_i = (S_i, d_i): the states at the end of one event, and the fraction of the video it takes."""

    states: tuple[StateChange, ...]
    fraction: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", tuple(self.states))
        if not self.states:
            raise InvalidDelta(
                "a delta must name at least one object that changes: add a state or drop the event"
            )
        if isinstance(self.fraction, bool) or not isinstance(self.fraction, int | float):
            raise InvalidDelta("the fraction of a delta must be a number")
        if not 0 < self.fraction < 1:
            raise InvalidDelta(f"the fraction of a delta must lie between 0 and 1, not be {self.fraction}")

    def objects(self) -> tuple[str, ...]:
        """N(S_i): the objects listed, each once, with the new objects that they announce."""
        listed: dict[str, None] = {}
        for state in self.states:
            listed[state.object] = None
            if state.new_object is not None:
                listed[state.new_object.id] = None
        return tuple(listed)

    def new_objects(self) -> tuple[NewObject, ...]:
        return tuple(state.new_object for state in self.states if state.new_object is not None)

    def to_json(self) -> dict[str, Any]:
        return {"states": [state.to_json() for state in self.states], "fraction": self.fraction}

    @classmethod
    def from_json(cls, value: object, *, limits: Limits = Limits.FILE, at: str = "$") -> PhysicalDelta:
        """One entry of prompt 2's `deltas`."""
        fields = read_object(value, at, ("states", "fraction"))
        entries = read_list(fields["states"], f"{at}.states", limits.max_nodes)
        states = [
            StateChange.from_json(entry, limits=limits, at=f"{at}.states[{i}]")
            for i, entry in enumerate(entries)
        ]
        fraction = read_number(fields["fraction"], f"{at}.fraction")
        with located(at):
            return cls(tuple(states), fraction)
