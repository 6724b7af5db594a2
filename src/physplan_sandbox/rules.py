"""The world's qualitative rules as data (rules.yaml): what they answer to, and what then happens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from physplan.errors import PhysPlanError
from physplan.graph import (
    Consume,
    Edge,
    GraphEdit,
    Link,
    Motion,
    NewObject,
    PhysicalDelta,
    Spawn,
    StateChange,
    StateGraph,
    Unlink,
    Update,
    motion,
)

TABLE = "table"
NEGATIONS = frozenset({"not", "no", "never", "without", "doesn", "won", "isn", "cannot"})


@dataclass(frozen=True, kw_only=True)
class EventRule:
    """States and edits in role names; `instantiate` puts identifiers in their place."""

    fraction: float
    states: tuple[Mapping[str, str], ...]
    edits: tuple[str, ...]
    motion: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Case:
    """One kind of scene in which a phenomenon has one outcome. `roles` maps a role to its category."""

    name: str
    roles: Mapping[str, str]
    when: tuple[str, ...]
    events: tuple[EventRule, ...]

    def bind(self, graph: StateGraph) -> dict[str, str] | None:
        """Role -> identifier, such that every condition holds; None where the scene is another."""
        return next(self._bindings(graph, dict(table_role(graph)), list(self.roles)), None)

    def _bindings(
        self, graph: StateGraph, bound: dict[str, str], open_roles: Sequence[str]
    ) -> Iterator[dict[str, str]]:
        if not all(holds(graph, bound, condition) for condition in self.when if _ready(condition, bound)):
            return
        if not open_roles:
            yield bound
            return
        role, *rest = open_roles
        for node in graph.nodes:
            if node.category == self.roles[role] and node.id not in bound.values():
                yield from self._bindings(graph, {**bound, role: node.id}, rest)


@dataclass(frozen=True, kw_only=True)
class PhenomenonRules:
    name: str
    about: str
    prompt: tuple[tuple[str, ...], ...]
    cases: Mapping[str, Case]

    def answers(self, prompt: str) -> bool:
        """Whether one word of each group occurs. A denied event is another event."""
        words = re.findall(r"[a-z]+", prompt.casefold())
        if NEGATIONS.intersection(words):
            return False
        return all(any(_fits(word, option) for word in words for option in group) for group in self.prompt)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """`kinds`: attributes by category; `attached`: part -> whole; `containers`: content -> vessels."""

    kinds: Mapping[str, Mapping[str, str]]
    attached: Mapping[str, str]
    containers: Mapping[str, tuple[str, ...]]
    phenomena: Mapping[str, PhenomenonRules]


@cache
def load_rules() -> Rules:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster, where it is built in
    data = yaml.load(files("physplan_sandbox").joinpath("rules.yaml").read_text("utf-8"), Loader=loader)
    return Rules(
        kinds=data["kinds"],
        attached=data["attached"],
        containers={content: tuple(vessels) for content, vessels in data["containers"].items()},
        phenomena={name: _phenomenon(name, entry) for name, entry in data["phenomena"].items()},
    )


def _phenomenon(name: str, entry: Mapping[str, Any]) -> PhenomenonRules:
    return PhenomenonRules(
        name=name,
        about=entry["about"],
        prompt=tuple(tuple(group) for group in entry["prompt"]),
        cases={case: _case(case, content) for case, content in entry["cases"].items()},
    )


def _case(name: str, entry: Mapping[str, Any]) -> Case:
    events = tuple(
        EventRule(
            fraction=e["fraction"],
            states=tuple(e["states"]),
            edits=tuple(e["edits"]),
            motion=tuple(e.get("motion", ())),
        )
        for e in entry["events"]
    )
    return Case(name=name, roles=entry["roles"], when=tuple(entry["when"]), events=events)


def table_role(graph: StateGraph) -> Iterator[tuple[str, str]]:
    return ((TABLE, node.id) for node in graph.nodes if node.category == TABLE)


def holds(graph: StateGraph, bound: Mapping[str, str], condition: str) -> bool:
    """A condition "a relation b", "not a relation b" or "a key is value", with roles bound to identifiers."""
    if " is " in condition:
        subject, value = condition.split(" is ", 1)
        role, key = subject.split()
        return graph.node(bound[role]).attributes.get(key) == value
    denied = condition.startswith("not ")
    a, relation, b = _relation(condition.removeprefix("not "))
    return (Edge(bound[a], relation, bound[b]) in graph) != denied


def _ready(condition: str, bound: Mapping[str, str]) -> bool:
    """Whether all the roles that a condition names are bound."""
    if " is " in condition:
        return condition.split()[0] in bound
    a, _, b = _relation(condition.removeprefix("not "))
    return a in bound and b in bound


def _relation(text: str) -> tuple[str, str, str]:
    a, *relation, b = text.split()
    return a, " ".join(relation), b


def _fits(word: str, option: str) -> bool:
    return word.startswith(option[:-1]) if option.endswith("*") else word == option


def instantiate(
    case: Case, bound: Mapping[str, str], graph: StateGraph
) -> tuple[tuple[PhysicalDelta, ...], tuple[tuple[GraphEdit, ...], ...]]:
    """The deltas and edits of a case for the bound objects; new ones get the next free numbers."""
    names = _names(case, bound, graph)
    words = {role: graph.node(id).attributes for role, id in bound.items() if id in graph}
    deltas = tuple(
        PhysicalDelta(tuple(_state(state, names) for state in event.states), event.fraction)
        for event in case.events
    )
    return deltas, tuple(tuple(_edit(text, names, words) for text in event.edits) for event in case.events)


def motions(case: Case, bound: Mapping[str, str], graph: StateGraph) -> tuple[tuple[Motion, ...], ...]:
    """How the bound objects of a case move, event by event."""
    names = _names(case, bound, graph)
    return tuple(tuple(_motion(text, names) for text in event.motion) for event in case.events)


def _names(case: Case, bound: Mapping[str, str], graph: StateGraph) -> dict[str, str]:
    number = max(int(id.rpartition("#")[2]) for id in graph.ids)
    names = dict(bound)
    for event in case.events:
        for state in event.states:
            if "new" in state:
                number += 1
                new = state["new"].split()[0]
                names[new] = f"{new}#{number}"
    return names


def _motion(text: str, names: Mapping[str, str]) -> Motion:
    """A line of `motion`: "role law", then names and values of parameters; an object is given by its role."""
    role, law, *rest = text.split()
    given = dict(zip(rest[::2], rest[1::2], strict=True))
    values: dict[str, float | str] = {
        name: names[value] if name == "to" else value if name == "way" else float(value)
        for name, value in given.items()
    }
    return motion(names[role], law, **values)


def _state(entry: Mapping[str, str], names: Mapping[str, str]) -> StateChange:
    new = None
    if "new" in entry:
        role, _, source = entry["new"].split()
        new = NewObject(names[role], names[source])
    return StateChange(names[entry["object"]], entry["state"], entry["rule"], new)


def _edit(text: str, names: Mapping[str, str], words: Mapping[str, Mapping[str, str]]) -> GraphEdit:
    """A line of `edits`: "Link a relation b", "Update a key: value" or "Spawn a from b: key value, ..."."""
    head, _, tail = text.partition(": ")
    operator, *arguments = head.split()
    tail = re.sub(r"\{(\w+)\.(\w+)\}", lambda m: words.get(m[1], {}).get(m[2], "changed"), tail)
    if operator == "Update":
        return Update(names[arguments[0]], arguments[1], tail)
    if operator == "Consume":
        return Consume(names[arguments[0]])
    if operator == "Spawn":
        attributes = dict(pair.strip().split(" ", 1) for pair in tail.split(",")) if tail else {}
        return Spawn(names[arguments[0]], names[arguments[2]], arguments[0], attributes)
    a, relation, b = _relation(" ".join(arguments))
    if operator in ("Link", "Unlink"):
        return (Link if operator == "Link" else Unlink)(names[a], relation, names[b])
    raise PhysPlanError(f"The rules hold an edit that is none: {text!r}.")
