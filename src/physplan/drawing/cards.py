"""What a plan's picture says: for each object and each state a card, with the change that made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from physplan.drawing.words import key_words, relation_words, told_by
from physplan.graph import (
    Consume,
    Event,
    EventChain,
    GraphEdit,
    Link,
    Motion,
    Node,
    Spawn,
    StateGraph,
    Unlink,
    Update,
    motion_of,
)


class Mark(StrEnum):
    """How a card is drawn."""

    FIRST = "first"  # as found in the first frame
    SAME = "same"
    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Card:
    """`changes` (what, and what was before) are the point of the card; `facts` are what else is known."""

    id: str
    category: str
    mark: Mark
    changes: tuple[tuple[str, str | None], ...] = ()
    facts: tuple[str, ...] = ()
    motion: Motion | None = None  # how it gets into this state, given or implied


def first_cards(graph: StateGraph) -> dict[str, Card]:
    told: dict[str, list[str]] = {}
    for edge in graph.edges:
        teller = told_by(edge.a, edge.r, edge.b)
        told.setdefault(teller, []).append(relation_words(teller, edge.a, edge.r, edge.b))
    return {
        node.id: Card(node.id, node.category, Mark.FIRST, facts=(*_attributes(node), *told.get(node.id, ())))
        for node in graph.nodes
    }


def event_cards(before: StateGraph, event: Event) -> dict[str, Card]:
    """A card for every object before or after the event."""
    spawns = {edit.id: edit for edit in event.edits if isinstance(edit, Spawn)}
    gone = {edit.o for edit in event.edits if isinstance(edit, Consume)}
    scope = set(event.delta.objects()) | set(spawns)
    edits: dict[str, list[GraphEdit]] = {}
    for edit in event.edits:
        for target in dict.fromkeys(edit.targets()):
            edits.setdefault(target, []).append(edit)
    cards: dict[str, Card] = {}
    for node in (*before.nodes, *(event.graph.node(id) for id in spawns)):
        changes = _changes(node.id, before, edits.get(node.id, ()), scope)
        if not (changes or node.id in gone or node.id in spawns):
            cards[node.id] = Card(node.id, node.category, Mark.SAME)
            continue
        moving = motion_of(node.id, before, event.delta, event.edits, event.motion)
        if node.id in gone:
            cards[node.id] = Card(node.id, node.category, Mark.GONE, (("gone", None),), motion=moving)
        elif node.id in spawns:
            came = (f"new, from {node.source}", None)
            cards[node.id] = Card(
                node.id, node.category, Mark.NEW, (came, *changes), _attributes(node), moving
            )
        else:
            cards[node.id] = Card(node.id, node.category, Mark.CHANGED, changes, motion=moving)
    return cards


def _attributes(node: Node) -> tuple[str, ...]:
    return tuple(f"{key_words(key)}: {value}" for key, value in node.attributes.items())


def _changes(
    id: str, before: StateGraph, edits: Sequence[GraphEdit], scope: set[str]
) -> tuple[tuple[str, str | None], ...]:
    """What the event does to one object, each with what was before."""
    changes: list[tuple[str, str | None]] = []
    for edit in edits:
        if isinstance(edit, Update) and edit.o == id:
            was = before.node(id).attributes.get(edit.key) if id in before else None
            changes.append((f"{key_words(edit.key)}: {edit.value}", was and f"was {was}"))
        elif isinstance(edit, Link | Unlink) and id in edit.targets() and id in scope:
            now = "now" if isinstance(edit, Link) else "no longer"
            changes.append((f"{now} {relation_words(id, edit.a, edit.r, edit.b)}", None))
    return tuple(dict.fromkeys(changes))


def row_order(chain: EventChain) -> list[str]:
    """Every object that appears, what is held above what holds it, new objects beside their source."""
    holders: dict[str, str] = {}
    first_seen = {node.id: node for graph in chain.graphs for node in graph.nodes}
    for graph in chain.graphs:
        for edge in graph.edges:
            if told_by(edge.a, edge.r, edge.b) == edge.b:
                holders.setdefault(edge.b, edge.a)
    held: dict[str, list[str]] = {}
    for id in first_seen:
        if id in holders:
            held.setdefault(holders[id], []).append(id)
    made: dict[str, list[str]] = {}
    for id, node in first_seen.items():
        if node.source is not None and id not in holders:
            made.setdefault(node.source, []).append(id)
    order: list[str] = []
    placed: set[str] = set()
    # First what nothing holds; then what holds each other in turn over time.
    waiting = [(id, False) for id in reversed([*(i for i in first_seen if i not in holders), *first_seen])]
    while waiting:
        id, leaving = waiting.pop()
        if leaving:  # all that it holds is above it: now itself, then what came from it
            order.append(id)
            waiting += [(new, False) for new in reversed(made.get(id, []))]
        elif id not in placed:
            placed.add(id)
            waiting.append((id, True))
            waiting += [(child, False) for child in reversed(held.get(id, []))]
    return order
