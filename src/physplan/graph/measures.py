"""What guidance measures: the term of each edit (table 1), and the objects that are counted (eq. 8)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from physplan.graph.edits import GraphEdit, RelationEdit, Spawn, Update
from physplan.graph.errors import InvalidEdit
from physplan.graph.vocabulary import ATTRIBUTE_KEYS, RELATIONS, suggest

if TYPE_CHECKING:
    from physplan.graph.chain import EventChain


class Term(StrEnum):
    """The terms of eq. 6 and 7."""

    APPEARANCE = "appearance"
    EXTENT = "extent"
    POSITION = "position"
    DEPTH = "depth"
    COUNT = "count"


def measure(edit: GraphEdit) -> Term:
    """mu(edit): the term that measures an edit; count for Spawn and Consume."""
    if isinstance(edit, Update):
        if edit.key not in ATTRIBUTE_KEYS:
            raise InvalidEdit(f"{edit}: no term measures {edit.key!r}: {suggest(edit.key, ATTRIBUTE_KEYS)}")
        return Term.EXTENT if edit.key == "extent" else Term.APPEARANCE
    if isinstance(edit, RelationEdit):
        if edit.r not in RELATIONS:
            raise InvalidEdit(f"{edit}: no term measures {edit.r!r}: {suggest(edit.r, RELATIONS)}")
        return Term.DEPTH if RELATIONS[edit.r].measure == "depth" else Term.POSITION
    return Term.COUNT


def objects_so_far(chain: EventChain, i: int) -> tuple[str, ...]:
    """V_{<=i}: the ids of every object that has appeared up to event i, consumed ones included.

    `i` counts events as the paper does: 0 is the first frame, 1 the end of the first event.
    """
    if not 0 <= i <= len(chain.events):
        raise IndexError(f"event {i} is not in 0..{len(chain.events)}")
    spawned = (edit.id for event in chain.events[:i] for edit in event.edits if isinstance(edit, Spawn))
    return (*chain.graph.ids, *spawned)
