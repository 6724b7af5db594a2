"""The four deterministic checks of an edit set (appendix A.2). Each says what is wrong, and how to mend it.

The checks read the edits as a set: order means nothing, and every check always runs, so that the
list of violations is complete even when an edit is wrong in several ways.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal

from physplan.graph.contradictions import contradictions
from physplan.graph.cycles import find_path
from physplan.graph.deltas import PhysicalDelta
from physplan.graph.edits import Consume, GraphEdit, Link, RelationEdit, Spawn, Unlink, Update
from physplan.graph.state import StateGraph
from physplan.graph.text_checks import identifier_problem, shorten
from physplan.graph.vocabulary import ACYCLIC, ATTRIBUTE_KEYS, INVERSES, RELATIONS, suggest

CheckName = Literal["grounding", "coverage", "lineage", "consistency"]
# The index of the edit at fault, None for the set as a whole; and what is wrong; how to mend it.
Fault = tuple[int | None, str]


@dataclass(frozen=True, slots=True)
class Violation:
    """`edit` is the index of the edit in its set; None when the fault is of the set as a whole."""

    check: CheckName
    edit: int | None
    message: str

    def to_json(self) -> dict[str, Any]:
        return {"check": self.check, "edit": self.edit, "message": self.message}


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the checks look at: G_{i-1}, delta_i if there is one, the edits, and the ids that are gone."""

    graph: StateGraph
    delta: PhysicalDelta | None
    edits: tuple[GraphEdit, ...]
    consumed: frozenset[str]
    spawned: frozenset[str]
    ids: Set[str]


def check(
    graph: StateGraph,
    delta: PhysicalDelta | None,
    edits: Sequence[GraphEdit],
    consumed: Collection[str] = frozenset(),
) -> tuple[Violation, ...]:
    """Every violation of the edit set; none when it is accepted. `consumed`: ids removed by earlier events.

    Without a delta the coverage check has nothing to compare with and finds nothing.
    """
    spawned = frozenset(edit.id for edit in edits if isinstance(edit, Spawn))
    ids = graph._nodes.keys()
    proposal = Proposal(graph, delta, tuple(edits), frozenset(consumed), spawned, ids)
    return tuple(
        Violation(name, index, sentence if index is None else f"edits[{index}] {edits[index]}: {sentence}")
        for name, find_faults in CHECKS.items()
        for index, sentence in find_faults(proposal)
    )


def grounding(proposal: Proposal) -> Iterator[Fault]:
    """Nodes exist or are spawned here, keys and relations are in the vocabulary, spawned ids are new."""
    elsewhere = proposal.spawned | proposal.consumed  # acting on consumed ids is for the lineage check
    seen: set[str] = set()
    for index, edit in enumerate(proposal.edits):
        if isinstance(edit, Spawn):
            for problem in _spawn_problems(proposal, edit, seen):
                yield index, problem
            seen.add(edit.id)
            continue
        for id in dict.fromkeys(edit.targets()):
            if id not in proposal.ids and id not in elsewhere:
                yield index, f"{shorten(id)} is not a node of the graph; {_instead_of(proposal, id)}"
        if isinstance(edit, Update) and edit.key not in ATTRIBUTE_KEYS:
            yield index, _unknown_key(edit.key)
        if isinstance(edit, RelationEdit) and edit.r not in RELATIONS:
            yield index, _unknown_relation(edit)


def _spawn_problems(proposal: Proposal, edit: Spawn, seen: set[str]) -> Iterator[str]:
    if problem := identifier_problem(edit.id):
        yield f"the new id {problem}"
    if edit.id in proposal.ids:
        yield f"{edit.id} already exists; use a number that no object has had"
    elif edit.id in proposal.consumed:
        yield f"{edit.id} was the id of a consumed object; use a number that no object has had"
    elif edit.id in seen:
        yield f"{edit.id} is spawned twice in this set; keep one Spawn or use another number"
    for key in edit.attributes:
        if key not in ATTRIBUTE_KEYS:
            yield _unknown_key(key)


def coverage(proposal: Proposal) -> Iterator[Fault]:
    """Exactly the objects that the delta lists are edited."""
    if proposal.delta is None:
        return
    listed = proposal.delta.objects()
    scope, names = frozenset(listed), ", ".join(listed)
    targets = {target for edit in proposal.edits for target in edit.targets()}
    for id in listed:
        if id not in targets:
            fix = _announced(proposal, id) or "an edit that expresses its new state"
            yield None, f"{id} is listed in the delta but no edit acts on it; add {fix}"
    for index, edit in enumerate(proposal.edits):
        if isinstance(edit, (Update, Consume)):
            if edit.o not in scope:
                in_spawn = isinstance(edit, Update) and edit.o in proposal.spawned
                fix = "put the value into the attributes of its Spawn" if in_spawn else "remove this edit"
                yield index, f"{shorten(edit.o)} is not listed in the delta ({names}); {fix}"
        elif isinstance(edit, Spawn):
            if scope.isdisjoint(edit.targets()):
                yield (
                    index,
                    f"the delta lists neither the new object nor its source ({names}); remove this edit",
                )
        elif scope.isdisjoint(edit.targets()) and proposal.spawned.isdisjoint(edit.targets()):
            yield (
                index,
                f"neither end is listed in the delta ({names}) or spawned in this set; remove this edit",
            )


def lineage(proposal: Proposal) -> Iterator[Fault]:
    """Every new object has a source in the graph before the event, and nothing acts on what is gone."""
    for index, edit in enumerate(proposal.edits):
        if isinstance(edit, Spawn):
            if problem := _source_problem(proposal, edit.source):
                yield index, f"{problem}; name one of: {', '.join(proposal.graph.ids)}"
            elif (said := _announced_source(proposal, edit.id)) not in (None, edit.source):
                yield index, f"the delta says that {edit.id} comes from {said}; name that source"
            continue
        for id in dict.fromkeys(edit.targets()):
            if id in proposal.consumed:
                fix = "remove this edit, or act on the object that came from it"
                yield index, f"{id} was consumed earlier in the chain; {fix}"


def _source_problem(proposal: Proposal, source: str | None) -> str | None:
    if source is None:
        return "a new object needs a source, the existing object it comes from"
    if source in proposal.consumed:
        return f"the source {source} was consumed earlier in the chain"
    if source in proposal.ids:
        return None
    if source in proposal.spawned:
        return f"the source {source} is itself spawned in this set"
    return f"the source {shorten(source)} is not a node of the graph before this event"


def consistency(proposal: Proposal) -> Iterator[Fault]:
    """The edits contradict neither each other nor the delta's words; support and containment stay acyclic."""
    yield from _set_twice(proposal)
    yield from _otherwise_in_words(proposal)
    yield from _linked_and_unlinked(proposal)
    yield from _consumed_here(proposal)
    yield from _cycles(proposal)


def _set_twice(proposal: Proposal) -> Iterator[Fault]:
    setter: dict[tuple[str, str], int] = {}
    for index, edit in enumerate(proposal.edits):
        if isinstance(edit, Spawn):
            for key in edit.attributes:
                setter.setdefault((edit.id, key), index)
    for index, edit in enumerate(proposal.edits):
        if isinstance(edit, Update):
            first = setter.setdefault((edit.o, edit.key), index)
            if first != index:
                yield index, f"edits[{first}] already sets {edit.key} of {edit.o}; keep one value"


def _otherwise_in_words(proposal: Proposal) -> Iterator[Fault]:
    states = {change.object: change.state for change in proposal.delta.states} if proposal.delta else {}
    changes = [
        (index, edit.o, edit.value) for index, edit in enumerate(proposal.edits) if isinstance(edit, Update)
    ]
    yield from contradictions(states, changes)


def _linked_and_unlinked(proposal: Proposal) -> Iterator[Fault]:
    first: dict[tuple[str, str, str], int] = {}
    for index, edit in enumerate(proposal.edits):
        if isinstance(edit, RelationEdit):
            other = proposal.edits[first.setdefault(edit.ends(), index)]
            if other.op != edit.op:
                yield index, f"edits[{first[edit.ends()]}] is the opposite, {other}; keep one"
            if edit.a == edit.b:
                yield index, "an object cannot be related to itself; name two objects"


def _consumed_here(proposal: Proposal) -> Iterator[Fault]:
    gone = {edit.o: index for index, edit in enumerate(proposal.edits) if isinstance(edit, Consume)}
    for index, edit in enumerate(proposal.edits if gone else ()):
        if isinstance(edit, (Update, Link, Spawn)):
            acted_on = (edit.id,) if isinstance(edit, Spawn) else edit.targets()
            for id in dict.fromkeys(acted_on):
                if id in gone:
                    yield index, f"edits[{gone[id]}] consumes {id} in the same set; remove one of the two"


def _cycles(proposal: Proposal) -> Iterator[Fault]:
    """Only a new edge can close a circle: walk down from its end and look for its start."""
    gone = {edit.o for edit in proposal.edits if isinstance(edit, Consume)}
    for relation in ACYCLIC:
        links = [(i, e) for i, e in enumerate(proposal.edits) if isinstance(e, Link) and e.r == relation]
        if not links:
            continue
        below = proposal.graph.below(relation)
        removed = {
            (edit.a, edit.b) for edit in proposal.edits if isinstance(edit, Unlink) and edit.r == relation
        }
        removed.update((id, b) for id in gone for b in below.get(id, ()))
        added: dict[str, list[str]] = {}
        for index, link in links:
            if link.a == link.b:
                continue  # reported as a relation of an object to itself
            if path := find_path(link.b, link.a, below, added, removed):
                circle = " -> ".join([link.a, *path])
                fix = "swap its ends, or Unlink what no longer holds"
                yield index, f"{relation} would run in a circle, {circle}; {fix}"
            else:
                added.setdefault(link.a, []).append(link.b)


def _instead_of(proposal: Proposal, id: str) -> str:
    if spawn := _announced(proposal, id):
        return f"add {spawn}"
    return suggest(id[:80], (*proposal.graph.ids, *sorted(proposal.spawned)))


def _announced(proposal: Proposal, id: str) -> str | None:
    """The Spawn that the delta asks for, when it says that `id` comes into existence."""
    new_objects = proposal.delta.new_objects() if proposal.delta else ()
    missing = (new for new in new_objects if new.id == id and id not in proposal.ids)
    return next((f"Spawn({new.id} <- {new.source})" for new in missing), None)


def _announced_source(proposal: Proposal, id: str) -> str | None:
    new_objects = proposal.delta.new_objects() if proposal.delta else ()
    return next((new.source for new in new_objects if new.id == id), None)


def _unknown_key(key: str) -> str:
    return f"{shorten(key)} is not an attribute key; {suggest(key[:80], ATTRIBUTE_KEYS)}"


def _unknown_relation(edit: RelationEdit) -> str:
    inverse = INVERSES.get(edit.r.replace("_", " "))
    hint = f"write {edit.op}({edit.b}, {inverse}, {edit.a})" if inverse else suggest(edit.r[:80], RELATIONS)
    return f"{shorten(edit.r)} is not a relation; {hint}"


CHECKS: Mapping[CheckName, Callable[[Proposal], Iterator[Fault]]] = {
    "grounding": grounding,
    "coverage": coverage,
    "lineage": lineage,
    "consistency": consistency,
}
