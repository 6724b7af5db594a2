"""Which terms make up the objective of an event (eq. 8). Loads no torch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from physplan.graph import Consume, EventChain, Spawn, Term, measure, objects_so_far


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


def select_terms(chain: EventChain, event: int) -> tuple[TermSpec, ...]:
    """Eq. 8: the term mu(e) of each net edit, and a count term for every object that has appeared so far."""
    chosen = Counter(
        (measure(edit), tuple(sorted(edit.targets())))
        for edit in chain.events[event].net_edits
        if not isinstance(edit, Spawn | Consume)
    )
    chosen.update((Term.COUNT, (node,)) for node in objects_so_far(chain, event + 1))
    return tuple(
        TermSpec(event=event, name=term.value, objects=objects, weight=weight)
        for (term, objects), weight in chosen.items()
    )
