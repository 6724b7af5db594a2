"""The five operators of table 1. An edit may name anything: whether it fits a graph, the checks say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from physplan.graph.errors import InvalidEdit, ParseError
from physplan.graph.json_values import Limits, located, read_list, read_object, read_text
from physplan.graph.text_checks import Attributes, as_attributes, require_text, shorten
from physplan.graph.vocabulary import RELATIONS, canonical, suggest

_NO_ATTRIBUTES = Attributes({})


@dataclass(frozen=True, slots=True)
class _Operator:
    op: ClassVar[str]

    def targets(self) -> tuple[str, ...]:
        """The objects that count as edited."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        values = ((entry.name, getattr(self, entry.name)) for entry in fields(self))
        return {"op": self.op} | {
            name: dict(value) if isinstance(value, Attributes) else value
            for name, value in values
            if value is not None
        }


@dataclass(frozen=True, slots=True)
class Update(_Operator):
    """Set one attribute of an object."""

    op: ClassVar[str] = "Update"
    o: str
    key: str
    value: str

    def __post_init__(self) -> None:
        require_text(self.o, "the object of an Update", InvalidEdit)
        require_text(self.key, f"the key of an Update of {self.o}", InvalidEdit)
        require_text(self.value, f"the value of an Update of {self.o}", InvalidEdit)
        object.__setattr__(self, "key", canonical(self.key))

    def targets(self) -> tuple[str, ...]:
        return (self.o,)

    def __str__(self) -> str:
        return f"Update({self.o}, {self.key}, {self.value})"


@dataclass(frozen=True, slots=True)
class RelationEdit(_Operator):
    a: str
    r: str
    b: str

    def __post_init__(self) -> None:
        for name, value in (("first end", self.a), ("relation", self.r), ("second end", self.b)):
            require_text(value, f"the {name} of a {self.op}", InvalidEdit)
        object.__setattr__(self, "r", canonical(self.r))

    def targets(self) -> tuple[str, ...]:
        return (self.a, self.b)

    def ends(self) -> tuple[str, str, str]:
        """(a, r, b) with the ends of a symmetric relation sorted: equal for equal edges."""
        relation = RELATIONS.get(self.r)
        if relation is not None and relation.symmetric and self.b < self.a:
            return self.b, self.r, self.a
        return self.a, self.r, self.b

    def __str__(self) -> str:
        return f"{self.op}({self.a}, {self.r}, {self.b})"


@dataclass(frozen=True, slots=True)
class Link(RelationEdit):
    """Add a relation."""

    op: ClassVar[str] = "Link"


@dataclass(frozen=True, slots=True)
class Unlink(RelationEdit):
    """Remove a relation."""

    op: ClassVar[str] = "Unlink"


@dataclass(frozen=True, slots=True)
class Spawn(_Operator):
    """Add an object that comes from another. A missing source is kept, for the lineage check to name."""

    op: ClassVar[str] = "Spawn"
    id: str
    source: str | None
    category: str
    attributes: Mapping[str, str] = field(default=_NO_ATTRIBUTES)

    def __post_init__(self) -> None:
        require_text(self.id, "the id of a Spawn", InvalidEdit)
        if self.source is not None:
            require_text(self.source, f"the source of the Spawn of {self.id}", InvalidEdit)
        require_text(self.category, f"the category of the Spawn of {self.id}", InvalidEdit)
        object.__setattr__(self, "attributes", as_attributes(self.attributes, InvalidEdit))

    def targets(self) -> tuple[str, ...]:
        """The new node and its source: both count as edited."""
        return (self.id,) if self.source is None else (self.id, self.source)

    def __str__(self) -> str:
        return f"Spawn({self.id} <- {self.source or 'nothing'})"


@dataclass(frozen=True, slots=True)
class Consume(_Operator):
    """Remove an object and its edges."""

    op: ClassVar[str] = "Consume"
    o: str

    def __post_init__(self) -> None:
        require_text(self.o, "the object of a Consume", InvalidEdit)

    def targets(self) -> tuple[str, ...]:
        return (self.o,)

    def __str__(self) -> str:
        return f"Consume({self.o})"


GraphEdit = Update | Link | Unlink | Spawn | Consume
OPERATORS: Mapping[str, type[GraphEdit]] = {
    operator.op: operator for operator in (Update, Link, Unlink, Spawn, Consume)
}
# Fields that may be absent: a Spawn without a source is read, so that the lineage check can name it.
_OPTIONAL = {"Spawn": ("source", "category", "attributes")}


def edit_from_json(value: object, *, limits: Limits = Limits.FILE, at: str = "$") -> GraphEdit:
    """One entry of prompt 3's `edits`."""
    op = read_object(value, at).get("op")
    operator = OPERATORS.get(op) if isinstance(op, str) else None
    if operator is None:
        given = "lacks the field 'op'" if op is None else f"has the unknown operator {shorten(str(op))}"
        raise ParseError(at, f"{given}: {suggest(str(op)[:80], OPERATORS)}")
    optional = _OPTIONAL.get(operator.op, ())
    names = [entry.name for entry in fields(operator)]
    given_fields = read_object(value, at, ["op", *(name for name in names if name not in optional)], optional)
    attributes = read_object(given_fields.get("attributes", {}), f"{at}.attributes")
    for key, text in attributes.items():
        read_text(key, f"{at}.attributes", limits.max_value)
        read_text(text, f"{at}.attributes.{key}", limits.max_value)
    for name in names:
        if name in given_fields and name != "attributes":
            read_text(given_fields[name], f"{at}.{name}", limits.max_value)
    with located(at):
        if operator is Spawn:
            id = given_fields["id"]
            category = given_fields.get("category", id.rpartition("#")[0] or id)
            return Spawn(id, given_fields.get("source"), category, attributes)
        return operator(*(given_fields[name] for name in names))


def edits_to_json(edits: Iterable[GraphEdit]) -> list[dict[str, Any]]:
    return [edit.to_json() for edit in edits]


def edits_from_json(value: object, *, limits: Limits = Limits.FILE, at: str = "$") -> tuple[GraphEdit, ...]:
    """A list of edits, as in prompt 3's `edits`."""
    entries = read_list(value, at, limits.max_edits)
    return tuple(edit_from_json(entry, limits=limits, at=f"{at}[{i}]") for i, entry in enumerate(entries))
