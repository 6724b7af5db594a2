"""G_i = G_{i-1} + epsilon_i: apply an edit set. Unedited nodes are the same objects before and after."""

from __future__ import annotations

from collections.abc import Sequence

from physplan.graph.cycles import find_path
from physplan.graph.edits import Consume, GraphEdit, Link, Spawn, Unlink, Update
from physplan.graph.errors import InvalidEdit, InvalidGraph
from physplan.graph.state import Edge, Node, StateGraph
from physplan.graph.text import shorten
from physplan.graph.vocabulary import ACYCLIC


def apply(graph: StateGraph, edits: Sequence[GraphEdit]) -> StateGraph:
    """The next graph; the order of the edits means nothing, and what is removed or added twice is so once.

    Raises `InvalidEdit` where the result would be undefined or not a valid graph; whether the edits express
    a delta, and where new objects come from, is for `check` to say.
    """
    try:
        nodes, gone = _new_nodes(graph, edits)
        return StateGraph._trusted(nodes, _new_edges(graph, edits, nodes, gone))
    except InvalidGraph as error:
        raise InvalidEdit(str(error)) from None


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
    for edit in edits:
        if isinstance(edit, Update):
            if edit.o not in nodes:
                raise InvalidEdit(f"{edit}: {shorten(edit.o)} is not a node of the next graph")
            changed = changes.setdefault(edit.o, {})
            if changed.setdefault(edit.key, edit.value) != edit.value:
                raise InvalidEdit(
                    f"{edit}: {edit.key} of {edit.o} is also set to {shorten(changed[edit.key])}"
                )
    for id, changed in changes.items():
        node = nodes[id]
        if any(node.attributes.get(key) != value for key, value in changed.items()):
            nodes[id] = Node(id, node.category, {**node.attributes, **changed}, node.source)
    return nodes, gone


def _new_edges(
    graph: StateGraph, edits: Sequence[GraphEdit], nodes: dict[str, Node], gone: set[str]
) -> frozenset[Edge]:
    linked = {Edge(edit.a, edit.r, edit.b): edit for edit in edits if isinstance(edit, Link)}
    unlinked = {Edge(edit.a, edit.r, edit.b): edit for edit in edits if isinstance(edit, Unlink)}
    for edge, edit in (*linked.items(), *unlinked.items()):
        for end in (edge.a, edge.b):
            if end not in nodes and not (end in gone and isinstance(edit, Unlink)):
                raise InvalidEdit(f"{edit}: {end} is not a node of the next graph")
        if edge in linked and edge in unlinked:
            raise InvalidEdit(f"{edit}: the same relation is linked and unlinked")
    edges = graph._edges
    if gone:
        edges = frozenset(edge for edge in edges if edge.a not in gone and edge.b not in gone)
    if unlinked:
        edges = edges.difference(unlinked)
    if linked:
        _refuse_cycles(graph, linked, gone, unlinked)
        edges = edges.union(linked)
    return edges


def _refuse_cycles(
    graph: StateGraph, linked: dict[Edge, Link], gone: set[str], unlinked: dict[Edge, Unlink]
) -> None:
    for relation in ACYCLIC:
        new = [edge for edge in linked if edge.r == relation]
        removed = {(edge.a, edge.b) for edge in unlinked if edge.r == relation}

        def down(id: str, relation: str = relation, removed: set[tuple[str, str]] = removed) -> list[str]:
            kept = [b for b in graph.below(relation).get(id, ()) if b not in gone and (id, b) not in removed]
            return kept + [edge.b for edge in linked if edge.r == relation and edge.a == id]

        for edge in new:
            if find_path(edge.b, edge.a, down):
                raise InvalidEdit(f"{linked[edge]}: {relation} would run in a circle")
