"""Fewer terms than eq. 8 selects: ablations (v) to (viii), and count terms for named objects alone."""

from __future__ import annotations

from collections.abc import Collection

from physplan.graph import EventChain, Term
from physplan.guidance.config import Counted
from physplan.guidance.paper.selection import TermSpec, select_terms


def chosen_terms(
    chain: EventChain, event: int, *, count: Counted, without: Collection[Term]
) -> tuple[TermSpec, ...]:
    """Eq. 8 without some terms; with `count="named"` an object of the first frame is counted only where a
    net edit names it."""
    edits = chain.events[event].net_edits
    unnamed = set(chain.graph.ids).difference(*(edit.targets() for edit in edits))
    return tuple(
        spec
        for spec in select_terms(chain, event)
        if spec.name not in {term.value for term in without}
        and (count == "all" or spec.name != Term.COUNT or spec.objects[0] not in unnamed)
    )
