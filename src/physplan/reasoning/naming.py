"""Referring expressions (appendix A.4): the category and, where that occurs twice, a relation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from physplan.graph import Edge, Node, StateGraph

# The relation (a, r, b) read from either end: what a is to b, and what b is to a.
PHRASES: dict[str, tuple[str, str]] = {
    "support": ("under", "on"),
    "containment": ("around", "in"),
    "attachment": ("attached to", "attached to"),
    "left of": ("to the left of", "to the right of"),
    "above": ("above", "below"),
    "in front of": ("in front of", "behind"),
    "contact": ("touching", "touching"),
    "near": ("near", "near"),
}
# The same among objects of one category, where naming the other would say nothing.
EXTREMES: dict[str, tuple[str, str]] = {
    "left of": ("on the left", "on the right"),
    "above": ("at the top", "at the bottom"),
    "in front of": ("in front", "at the back"),
}
TELLING_ATTRIBUTES = ("color", "extent", "surface", "integrity", "configuration", "material_phase")


@dataclass(frozen=True, slots=True)
class Mark:
    """What tells an object apart: a phrase, and the category of the object that it names, if any."""

    phrase: str
    other: str | None = None


def siblings(graph: StateGraph, node: Node) -> list[Node]:
    """The other objects of the same category."""
    name = node.category.casefold()
    return [other for other in graph.nodes if other.id != node.id and other.category.casefold() == name]


def relation_marks(graph: StateGraph, node: Node) -> list[Mark]:
    """The relations of G_0 that hold for `node` and for none of its siblings, the most telling first."""
    taken = {mark for sibling in siblings(graph, node) for mark in _relations(graph, sibling)}
    return [mark for mark in _relations(graph, node) if mark not in taken]


def attribute_marks(graph: StateGraph, node: Node) -> list[Mark]:
    """The attribute values that no sibling shares."""
    others = siblings(graph, node)
    return [
        Mark(node.attributes[key])
        for key in TELLING_ATTRIBUTES
        if key in node.attributes
        and all(other.attributes.get(key) != node.attributes[key] for other in others)
    ]


def refer(graph: StateGraph, id: str) -> str:
    """A phrase that picks `id` out in the picture of `graph`, without its identifier."""
    node = graph.node(id)
    if not siblings(graph, node):
        return f"the {node.category}"
    if marks := relation_marks(graph, node):
        mark = marks[0]
        return f"the {node.category} {mark.phrase}" + (f" the {mark.other}" if mark.other else "")
    if marks := attribute_marks(graph, node):
        return f"the {node.category} that is {marks[0].phrase}"
    return f"the {node.category}"


def mentions(text: str, name: str) -> bool:
    """Whether `text` names `name`, in the singular or the plural, as whole words."""
    return bool(_pattern(name).search(text))


def without(text: str, name: str) -> str:
    return _pattern(name).sub(" ", text)


def identifier(id: str) -> re.Pattern[str]:
    """An identifier inside a text: cup#1 is not in "cup#12"."""
    return re.compile(rf"{re.escape(id)}(?!\d)")


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?:e?s)?(?!\w)", re.IGNORECASE)


def _relations(graph: StateGraph, node: Node) -> Iterator[Mark]:
    edges = sorted(graph.edges_of(node.id), key=lambda edge: list(PHRASES).index(edge.r))
    for edge in edges:
        side = 0 if edge.a == node.id else 1
        other = graph.node(edge.b if side == 0 else edge.a)
        if other.category.casefold() != node.category.casefold():
            yield Mark(PHRASES[edge.r][side], other.category)
        elif edge.r in EXTREMES and not _has_opposite(graph, node, edge, side):
            yield Mark(EXTREMES[edge.r][side])


def _has_opposite(graph: StateGraph, node: Node, edge: Edge, side: int) -> bool:
    """Whether a sibling lies on the other side as well: then the object is not the outermost one."""
    for other in graph.edges_of(node.id):
        beyond = other.a if side == 0 else other.b
        if other.r == edge.r and beyond != node.id:
            return graph.node(beyond).category.casefold() == node.category.casefold()
    return False
