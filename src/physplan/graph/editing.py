"""Changes to a plan, each a call: what follows is computed and checked again.

Events are counted from 1, as in the table of a plan. A change that the checks refuse raises `RejectedEdits`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from physplan.graph.edits import GraphEdit
from physplan.graph.errors import InvalidChain

if TYPE_CHECKING:
    from physplan.graph.chain import Event, EventChain


def with_fraction(chain: EventChain, event: int, fraction: float) -> EventChain:
    """The chain with another length of one event, as a share of the video."""
    found = _event(chain, event)
    return _with(chain, event, replace(found, delta=replace(found.delta, fraction=fraction)))


def without_event(chain: EventChain, event: int) -> EventChain:
    """The chain without one event; the others keep their fractions."""
    _event(chain, event)
    if len(chain.events) == 1:
        raise InvalidChain("a plan needs at least one event: its last one cannot be taken out")
    kept = (*chain.events[: event - 1], *chain.events[event:])
    return replace(chain, events=kept).rebuilt()


def without_edit(chain: EventChain, event: int, edit: GraphEdit | str | int) -> EventChain:
    """The chain without one edit: the edit itself, as it is printed, or its number from 1.

    States of objects that no edit of the event touches any more go with it.
    """
    found = _event(chain, event)
    printed = [str(one) for one in found.edits]
    number = (
        edit - 1 if isinstance(edit, int) else next((n for n, p in enumerate(printed) if p == str(edit)), -1)
    )
    if not 0 <= number < len(printed):
        raise InvalidChain(f"event {event} has no edit {edit}: it has {'; '.join(printed)}")
    edits = (*found.edits[:number], *found.edits[number + 1 :])
    if not edits:
        return without_event(chain, event)
    gone = set(found.edits[number].targets()) - {target for one in edits for target in one.targets()}
    states = tuple(state for state in found.delta.states if state.object not in gone)
    delta = replace(found.delta, states=states) if states else found.delta
    motion = tuple(one for one in found.motion if one.o not in gone)
    return _with(chain, event, replace(found, edits=edits, delta=delta, motion=motion))


def _event(chain: EventChain, event: int) -> Event:
    if not 1 <= event <= len(chain.events):
        raise InvalidChain(f"there is no event {event}: the plan has {len(chain.events)}, counted from 1")
    return chain.events[event - 1]


def _with(chain: EventChain, event: int, changed: Event) -> EventChain:
    events = (*chain.events[: event - 1], changed, *chain.events[event:])
    return replace(chain, events=events).rebuilt()
