"""What hides what: the order in which things are drawn, the farthest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from physplan.graph import StateGraph
from physplan.perception import KeyframeEvidence
from physplan.sketch.cuts import Posed
from physplan.sketch.pixels import placed

MIN_OVERLAP = 0.04  # of the smaller object: an overlap that says something
IN_FRONT = ("support", "containment", "in front of")


def seen_in_front(actor: Posed, other: Tensor, other_then: Tensor | None) -> int:
    """+1 where the state's picture shows the actor before the other object, -1 behind it, 0 unknown.

    In front: it is seen where the other was. Behind: its whole outline reaches where the other is seen.
    """
    smaller = min(int(actor.cut.mask.sum()), int(other.sum()))
    covers = int((actor.seen & other).sum())
    whole = placed(actor.cut.layer[3:], actor.cut.centre, actor.place)[0] > 0.5
    now = other if other_then is None else other_then
    hidden = int((whole & now & ~actor.seen).sum())
    if max(covers, hidden) < MIN_OVERLAP * smaller:
        return 0
    return 1 if covers >= hidden else -1


def drawing_order(
    nearness: Mapping[str, float], rules: Sequence[tuple[str, str]], graph: StateGraph
) -> tuple[str, ...]:
    """Ids from far to near: by depth, then by relations, then by what was seen (pairs behind, before)."""
    order = sorted(nearness, key=lambda id: (nearness[id], id))
    related = [
        (edge.b, edge.a) if edge.r == "in front of" else (edge.a, edge.b)
        for edge in graph.edges
        if edge.r in IN_FRONT
    ]
    contradicted = {(front, behind) for behind, front in rules}
    wanted = [pair for pair in related if pair not in contradicted] + list(rules)
    for _ in range(len(order)):
        swapped = False
        for behind, front in wanted:
            if behind in nearness and front in nearness and order.index(behind) > order.index(front):
                order.remove(front)
                order.insert(order.index(behind) + 1, front)
                swapped = True
        if not swapped:
            break
    return tuple(order)


def still_nearness(first: KeyframeEvidence, id: str) -> float:
    return float(first.depth[first.masks[id]].median())
