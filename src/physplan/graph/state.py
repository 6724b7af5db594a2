"""The state graph: what objects there are, in which state, and how they relate (section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from physplan.graph.cycles import find_cycle
from physplan.graph.errors import InvalidGraph
from physplan.graph.json_values import Limits, located, read_list, read_object, read_text
from physplan.graph.text_checks import Attributes, as_attributes, identifier_problem, require_text, shorten
from physplan.graph.vocabulary import ACYCLIC, ATTRIBUTE_KEYS, ATTRIBUTES, RELATIONS, canonical, suggest

_NO_ATTRIBUTES = Attributes({})
_EDGE_ORDER = attrgetter("a", "r", "b")
_set = object.__setattr__


@dataclass(frozen=True, slots=True)
class Node:
    """An object: a persistent identifier, a category, attributes, and the object it came from, if spawned."""

    id: str
    category: str
    attributes: Mapping[str, str] = field(default=_NO_ATTRIBUTES)
    source: str | None = None

    def __post_init__(self) -> None:
        if problem := identifier_problem(self.id):
            raise InvalidGraph(f"a node's id {problem}")
        require_text(self.category, f"the category of {self.id}", InvalidGraph)
        attributes = as_attributes(self.attributes, InvalidGraph)
        _require_keys(self.id, attributes)
        _set(self, "attributes", attributes)
        if self.source is not None and (problem := identifier_problem(self.source)):
            raise InvalidGraph(f"the source of {self.id} {problem}")

    def updated(self, changes: dict[str, str]) -> Node:
        """The object with the attributes of its Updates; itself when nothing changes."""
        _require_keys(self.id, changes)
        attributes = as_attributes(self.attributes, InvalidGraph)
        merged = attributes.merged(changes)
        if merged == attributes:
            return self
        node = Node.__new__(Node)  # everything else is valid already
        _set(node, "id", self.id)
        _set(node, "category", self.category)
        _set(node, "attributes", merged)
        _set(node, "source", self.source)
        return node

    def to_json(self) -> dict[str, Any]:
        value = {"id": self.id, "category": self.category, "attributes": dict(self.attributes)}
        return value if self.source is None else {**value, "source": self.source}

    @classmethod
    def from_json(cls, value: object, *, limits: Limits = Limits.FILE, at: str = "$") -> Node:
        fields = read_object(value, at, required=("id", "category"), optional=("attributes", "source"))
        for name in fields.keys() & {"id", "category", "source"}:
            read_text(fields[name], f"{at}.{name}", limits.max_value)
        attributes = read_object(fields.get("attributes", {}), f"{at}.attributes")
        for key, text in attributes.items():
            read_text(key, f"{at}.attributes", limits.max_value)
            read_text(text, f"{at}.attributes.{key}", limits.max_value)
        with located(at):
            return cls(fields["id"], fields["category"], attributes, fields.get("source"))


def _require_keys(id: str, keys: Iterable[str]) -> None:
    for key in keys:
        if key not in ATTRIBUTES:
            raise InvalidGraph(f"{id} has no attribute {shorten(key)}: {suggest(key, ATTRIBUTE_KEYS)}")


@dataclass(frozen=True, slots=True)
class Edge:
    """The relation (a, r, b). The ends of a symmetric relation are stored in sorted order."""

    a: str
    r: str
    b: str

    def __post_init__(self) -> None:
        for end in (self.a, self.b):
            if problem := identifier_problem(end):
                raise InvalidGraph(f"an end of an edge {problem}")
        require_text(self.r, "a relation", InvalidGraph)
        name = canonical(self.r)
        if name not in RELATIONS:
            raise InvalidGraph(f"there is no relation {shorten(self.r)}: {suggest(self.r, RELATIONS)}")
        if self.a == self.b:
            raise InvalidGraph(f"{self.a} cannot be related to itself ({name}): remove this edge")
        a, b = (self.b, self.a) if RELATIONS[name].symmetric and self.b < self.a else (self.a, self.b)
        _set(self, "a", a)
        _set(self, "r", name)
        _set(self, "b", b)

    @classmethod
    def _trusted(cls, a: str, r: str, b: str) -> Edge:
        """An edge whose ends are nodes of a graph, sorted if they must be, with a known relation."""
        edge = cls.__new__(cls)
        _set(edge, "a", a)
        _set(edge, "r", r)
        _set(edge, "b", b)
        return edge

    def to_json(self) -> dict[str, str]:
        return {"a": self.a, "r": self.r, "b": self.b}

    @classmethod
    def from_json(cls, value: object, *, limits: Limits = Limits.FILE, at: str = "$") -> Edge:
        fields = read_object(value, at, required=("a", "r", "b"))
        for name in ("a", "r", "b"):
            read_text(fields[name], f"{at}.{name}", limits.max_value)
        with located(at):
            return cls(fields["a"], fields["r"], fields["b"])


def _path(ids: Sequence[str]) -> str:
    """A walk in words; the middle of a long one is left out."""
    shown = ids if len(ids) <= 12 else [*ids[:6], "...", *ids[-5:]]
    return " -> ".join(shown)


class StateGraph:
    """An immutable, validated graph. Equal graphs have equal nodes and edges, in whatever order."""

    __slots__ = ("_below", "_edges", "_nodes", "_sorted")

    _nodes: dict[str, Node]
    _edges: frozenset[Edge]
    _sorted: tuple[Edge, ...] | None
    _below: dict[str, dict[str, list[str]]] | None

    def __init__(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> None:
        self._nodes = {}
        for node in nodes:
            if node.id in self._nodes:
                raise InvalidGraph(f"two nodes have the id {node.id}: give each object its own number")
            self._nodes[node.id] = node
        self._edges = frozenset(edges)
        self._sorted = self._below = None
        for edge in self.edges:
            for end in (edge.a, edge.b):
                if end not in self._nodes:
                    name = f"({edge.a}, {edge.r}, {edge.b})"
                    raise InvalidGraph(
                        f"the edge {name} names {end}, which is not a node: add it or remove the edge"
                    )
        for relation in ACYCLIC:
            if cycle := find_cycle(self.below(relation)):
                raise InvalidGraph(f"{relation} runs in a circle, {_path(cycle)}: remove one of these edges")

    @classmethod
    def _trusted(cls, nodes: dict[str, Node], edges: frozenset[Edge]) -> StateGraph:
        """A graph known to be valid: `apply` validates what it touches and must not pay for the rest."""
        graph = cls.__new__(cls)
        graph._nodes, graph._edges = nodes, edges
        graph._sorted = graph._below = None
        return graph

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._nodes.values())

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._nodes)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Every edge, in sorted order."""
        if self._sorted is None:
            self._sorted = tuple(sorted(self._edges, key=_EDGE_ORDER))
        return self._sorted

    def node(self, id: str) -> Node:
        try:
            return self._nodes[id]
        except KeyError:
            raise InvalidGraph(
                f"the graph has no node {shorten(str(id))}: {suggest(str(id)[:80], self._nodes)}"
            ) from None

    def edges_of(self, id: str) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if id in (edge.a, edge.b))

    def below(self, relation: str) -> Mapping[str, list[str]]:
        """For each object those that it supports or contains: `relation` is one of the acyclic ones."""
        if self._below is None:
            self._below = {name: {} for name in ACYCLIC}
            for edge in self._edges:
                if edge.r in ACYCLIC:
                    self._below[edge.r].setdefault(edge.a, []).append(edge.b)
        return self._below[relation]

    def __contains__(self, item: object) -> bool:
        """`"ice#1" in graph` asks for a node, `Edge(...) in graph` for an edge."""
        return item in self._edges if isinstance(item, Edge) else item in self._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateGraph):
            return NotImplemented
        return self._nodes == other._nodes and self._edges == other._edges

    def __hash__(self) -> int:
        return hash((frozenset(self._nodes.values()), self._edges))

    def __repr__(self) -> str:
        return f"StateGraph(nodes=[{', '.join(self._nodes)}], edges={len(self._edges)})"

    def __reduce__(self) -> tuple[type[StateGraph], tuple[tuple[Node, ...], tuple[Edge, ...]]]:
        return StateGraph, (self.nodes, self.edges)

    def to_json(self) -> dict[str, Any]:
        """The paper's form, prompt 1; nodes in order, edges sorted."""
        return {
            "nodes": [node.to_json() for node in self._nodes.values()],
            "edges": [edge.to_json() for edge in self.edges],
        }

    @classmethod
    def from_json(cls, value: object, *, limits: Limits = Limits.FILE, at: str = "$") -> StateGraph:
        fields = read_object(value, at, required=("nodes",), optional=("edges",))
        nodes = read_list(fields["nodes"], f"{at}.nodes", limits.max_nodes)
        edges = read_list(fields.get("edges", []), f"{at}.edges", limits.max_edges)
        read_nodes = [
            Node.from_json(node, limits=limits, at=f"{at}.nodes[{i}]") for i, node in enumerate(nodes)
        ]
        read_edges = [
            Edge.from_json(edge, limits=limits, at=f"{at}.edges[{i}]") for i, edge in enumerate(edges)
        ]
        with located(at):
            return cls(read_nodes, read_edges)
