"""Net edits: how a later state differs from the first, in as few edits as possible (section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from physplan.graph.apply import apply
from physplan.graph.edits import Consume, GraphEdit, Link, Spawn, Unlink, Update
from physplan.graph.state import Node, StateGraph


def net_edits(initial: StateGraph, edit_sets: Sequence[Sequence[GraphEdit]]) -> tuple[GraphEdit, ...]:
    """The edits from G_0 to G_i, so that `apply(initial, net_edits(initial, sets))` is the last graph.

    What cancels out is gone: a value set back, a relation made and unmade, an object spawned and consumed.
    A spawned object keeps its Spawn's attributes; later changes of it are Updates.
    """
    final = initial
    for edits in edit_sets:
        final = apply(final, edits)
    spawns = {edit.id: edit for edits in edit_sets for edit in edits if isinstance(edit, Spawn)}
    return tuple(net_difference(initial, final, spawns))


def net_difference(initial: StateGraph, final: StateGraph, spawns: dict[str, Spawn]) -> Iterator[GraphEdit]:
    """The difference of two graphs of one chain, in the order of the paper's example."""
    for node in initial.nodes:
        if node.id not in final:
            yield Consume(node.id)
    for node in final.nodes:
        if node.id not in initial:
            spawn = spawns[node.id]
            yield spawn
            yield from _updates(spawn, node)
    for edge in final.edges:
        if edge not in initial:
            yield Link(edge.a, edge.r, edge.b)
    for edge in initial.edges:
        if edge not in final and edge.a in final and edge.b in final:
            yield Unlink(edge.a, edge.r, edge.b)
    for node in final.nodes:
        if node.id in initial:
            yield from _updates(initial.node(node.id), node)


def _updates(before: Node | Spawn, after: Node) -> Iterator[Update]:
    for key, value in after.attributes.items():
        if before.attributes.get(key) != value:
            yield Update(after.id, key, value)
