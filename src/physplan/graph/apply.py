"""G_i = G_{i-1} + epsilon_i: apply an edit set. Unedited nodes are the same objects before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from physplan.graph.cycles import find_path
from physplan.graph.edits import Consume, GraphEdit, Link, RelationEdit, Spawn, Unlink, Update
from physplan.graph.errors import InvalidEdit, InvalidGraph
from physplan.graph.state import Edge, Node, StateGraph
from physplan.graph.text_checks import shorten
from physplan.graph.vocabulary import ACYCLIC, RELATIONS, suggest


def apply(graph: StateGraph, edits: Sequence[GraphEdit]) -> StateGraph:
    """The next graph; the order of the edits means nothing, and what is removed or added twice is so once.

    Raises `InvalidEdit` where the result would be undefined or not a valid graph; whether the edits express
    a delta, and where new objects come from, is for `check` to say. Validates only what it touches, so that
    the cost hardly grows with the graph.
    """
    try:
        nodes, gone = _new_nodes(graph, edits)
    except InvalidGraph as error:
        raise InvalidEdit(str(error)) from None
    return StateGraph._trusted(nodes, _new_edges(graph, edits, nodes, gone))


def _new_nodes(graph: StateGraph, edits: Sequence[GraphEdit]) -> tuple[dict[str, Node], set[str]]:
    nodes = dict(graph._nodes)
    gone: set[str] = set()
    changes: dict[str, dict[str, str]] = {}
    for edit in edits:
        if isinstance(edit, Consume):
            if edit.o not in graph:
                raise InvalidEdit(f"{edit}: {shorten(edit.o)} is not a node of the graph")
            gone.add(edit.o)
            nodes.pop(edit.o, None)
        elif isinstance(edit, Spawn):
            if edit.id in graph or edit.id in nodes:
                raise InvalidEdit(f"{edit}: {edit.id} already exists; use a new id")
            nodes[edit.id] = Node(edit.id, edit.category, edit.attributes, edit.source)
        elif isinstance(edit, Update):
            changed = changes.setdefault(edit.o, {})
            if changed.setdefault(edit.key, edit.value) != edit.value:
                raise InvalidEdit(
                    f"{edit}: {edit.key} of {edit.o} is also set to {shorten(changed[edit.key])}"
                )
    for id, changed in changes.items():
        if id not in nodes:
            raise InvalidEdit(f"an Update names {shorten(id)}, which is not a node of the next graph")
        nodes[id] = nodes[id].updated(changed)
    return nodes, gone


def _new_edges(
    graph: StateGraph, edits: Sequence[GraphEdit], nodes: dict[str, Node], gone: set[str]
) -> frozenset[Edge]:
    linked: set[Edge] = set()
    unlinked: set[Edge] = set()
    for edit in edits:
        if isinstance(edit, Link):
            linked.add(_edge(edit, nodes))
        elif isinstance(edit, Unlink):
            unlinked.add(_edge(edit, nodes, gone))
    if both := linked & unlinked:
        edge = both.pop()
        raise InvalidEdit(f"({edge.a}, {edge.r}, {edge.b}) is linked and unlinked in one set")
    edges = graph._edges
    if gone:
        unlinked.update(edge for edge in edges if edge.a in gone or edge.b in gone)
    _refuse_cycles(graph, linked, unlinked)
    if unlinked:
        edges = edges.difference(unlinked)
    return edges.union(linked) if linked else edges


def _edge(edit: RelationEdit, nodes: dict[str, Node], gone: Iterable[str] = ()) -> Edge:
    a, r, b = edit.ends()
    if r not in RELATIONS:
        raise InvalidEdit(f"{edit}: {shorten(r)} is not a relation; {suggest(r[:80], RELATIONS)}")
    for end in (a, b):
        if end not in nodes and end not in gone:
            raise InvalidEdit(f"{edit}: {shorten(end)} is not a node of the next graph")
    if a == b:
        raise InvalidEdit(f"{edit}: an object cannot be related to itself")
    return Edge._trusted(a, r, b)


def _refuse_cycles(graph: StateGraph, linked: set[Edge], unlinked: set[Edge]) -> None:
    """Only a new edge can close a circle: walk down from its end and look for its start."""
    for relation in {edge.r for edge in linked}.intersection(ACYCLIC):
        removed = {(edge.a, edge.b) for edge in unlinked if edge.r == relation}
        added: dict[str, list[str]] = {}
        for edge in linked:
            if edge.r == relation:
                if find_path(edge.b, edge.a, graph.below(relation), added, removed):
                    raise InvalidEdit(
                        f"Link({edge.a}, {relation}, {edge.b}): {relation} would run in a circle"
                    )
                added.setdefault(edge.a, []).append(edge.b)
