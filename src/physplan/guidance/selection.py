"""Which terms make up the objective of an event (eq. 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from physplan.graph import Consume, EventChain, Spawn, Term, measure, objects_so_far
from physplan.guidance.config import Counted


@dataclass(frozen=True, kw_only=True)
class TermSpec:
    """One term of one event's objective."""

    event: int  # index into the chain's events
    name: str  # a Term, or the name of another loss
    objects: tuple[str, ...] = ()
    weight: int = 1  # how many edits select this very term: equal gradients are computed once

    @property
    def label(self) -> str:
        return f"event {self.event + 1}, {self}"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.objects)})"


def select_terms(
    chain: EventChain, event: int, *, count: Counted = "all", without: Collection[Term] = ()
) -> tuple[TermSpec, ...]:
    """Eq. 8: the term of each net edit, and a count term for every object that has appeared so far.

    With `count="named"` an object of the first frame is counted only where a net edit names it.
    """
    edits = chain.events[event].net_edits
    chosen = Counter(
        (measure(edit), tuple(sorted(edit.targets())))
        for edit in edits
        if not isinstance(edit, Spawn | Consume)
    )
    left_alone = set(chain.graph.ids).difference(*(edit.targets() for edit in edits))
    chosen.update(
        (Term.COUNT, (node,))
        for node in objects_so_far(chain, event + 1)
        if count == "all" or node not in left_alone
    )
    return tuple(
        TermSpec(event=event, name=term.value, objects=objects, weight=weight)
        for (term, objects), weight in chosen.items()
        if term not in without
    )
