"""Whether a motion fits its event, and the law that follows from the edits where the plan says none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from physplan.graph.apply import apply
from physplan.graph.checks import CheckName, Violation
from physplan.graph.deltas import PhysicalDelta
from physplan.graph.edits import Consume, GraphEdit, Link, RelationEdit, Spawn, Unlink, Update
from physplan.graph.motion import LAWS, Motion, motion, parameter_problem
from physplan.graph.state import StateGraph
from physplan.graph.text_checks import shorten
from physplan.graph.vocabulary import RELATIONS, suggest

HOLDING = ("support", "containment", "attachment")
SMALLER = ("small", "short", "less", "low", "narrow", "thin", "shrunk")
TIPPED = ("tipped", "lying", "leaning", "fallen", "toppled", "on its side")
# What an object must undergo in the event for a law that does not move it.
NEEDS = {
    "grow": "a Spawn or an Update of its extent",
    "spread": "a Spawn or an Update of its extent, surface or color",
    "pour": "a Spawn, a Consume or an Update of its extent",
    "shrink": "a Consume or an Update of its extent or material_phase",
    "fade": "a Spawn, a Consume or an Update",
}
_KEYS = {
    "grow": ("extent",),
    "spread": ("extent", "surface", "color"),
    "pour": ("extent",),
    "shrink": ("extent", "material_phase"),
}
_SPAWNED, _CONSUMED = ("grow", "spread", "pour", "fade"), ("shrink", "pour", "fade")


def check_motion(
    graph: StateGraph, delta: PhysicalDelta, edits: Sequence[GraphEdit], motions: Sequence[Motion]
) -> tuple[Violation, ...]:
    """Every violation of an event's motions, given G_{i-1} and the event's (valid) edits."""
    seen: set[str] = set()
    found: list[Violation] = []
    for index, entry in enumerate(motions):
        faults = list(_grounding(graph, edits, entry))
        if not faults:
            faults = [("consistency", text) for text in _consistency(graph, delta, edits, entry)]
        if entry.o in seen:
            faults.append(("consistency", f"{entry.o} moves by two laws in one event; keep one"))
        seen.add(entry.o)
        found += [Violation(name, None, f"motion[{index}] {entry}: {text}") for name, text in faults]
    return tuple(found)


def _grounding(
    graph: StateGraph, edits: Sequence[GraphEdit], entry: Motion
) -> Iterator[tuple[CheckName, str]]:
    after = apply(graph, edits)
    here = dict.fromkeys((*graph.ids, *after.ids))
    if entry.o not in here:
        yield "grounding", f"{shorten(entry.o)} is not an object of this event; {suggest(entry.o[:80], here)}"
    elif not any(entry.o in edit.targets() for edit in edits):
        yield "coverage", f"no edit of this event acts on {entry.o}; remove this motion"
    law = LAWS.get(entry.law)
    if law is None:
        yield "grounding", f"{shorten(entry.law)} is not a law; {suggest(entry.law[:80], LAWS)}"
        return
    for name, value in entry.parameters:
        if problem := parameter_problem(law, name, value):
            yield "grounding", problem
        elif name == "to" and value not in here:
            yield "grounding", f"`to` names {shorten(str(value))}, which is no object of this event"


def _consistency(
    graph: StateGraph, delta: PhysicalDelta, edits: Sequence[GraphEdit], entry: Motion
) -> Iterator[str]:
    id, law = entry.o, entry.law
    gone = any(isinstance(edit, Consume) and edit.o == id for edit in edits)
    if entry.number("begins") >= entry.number("ends"):
        yield "it begins when it has ended; make `begins` smaller than `ends`"
    if not gone and any(name == "to" for name, _ in entry.parameters):
        yield "`to` is for an object that the event consumes; leave it out"
    if law in NEEDS and not _undergoes(id, law, edits):
        yield f"{law} needs {NEEDS[law]}; change the law or the edits"
    if law == "rest":
        if gone or id not in graph:
            yield f"{id} comes or goes and cannot rest; use grow, spread, pour, fade or shrink"
        elif moved(id, delta, edits):
            yield f"the edits give {id} another place, so it cannot rest; use a law that moves"
    if law == "trajectory" and not entry.path:
        yield "a trajectory needs its samples; give `path`, or another law"
    if law == "swing" and pivot_of(id, graph, edits) is None:
        yield f"nothing holds {id} by attachment, so it cannot swing; link it or use another law"


def _undergoes(id: str, law: str, edits: Sequence[GraphEdit]) -> bool:
    for edit in edits:
        if isinstance(edit, Spawn) and edit.id == id and law in _SPAWNED:
            return True
        if isinstance(edit, Consume) and edit.o == id and law in _CONSUMED:
            return True
        if isinstance(edit, Update) and edit.o == id and (law == "fade" or edit.key in _KEYS[law]):
            return True
    return False


def moved(id: str, delta: PhysicalDelta, edits: Sequence[GraphEdit]) -> bool:
    """Whether the edits say that an object is elsewhere: its holder changes, or its place by an unlisted one.

    Of two objects whose relation changes the one that the delta lists has moved; of two listed the held one,
    or the one that the event changes in no other way.
    """
    listed = delta.objects()
    if id not in listed or any(isinstance(edit, Spawn) and edit.id == id for edit in edits):
        return False
    spawned = {edit.id for edit in edits if isinstance(edit, Spawn)}
    own = [edit for edit in edits if id in edit.targets()]
    if own and all(isinstance(edit, RelationEdit) and not _holds(edit, id) for edit in own):
        return True
    for edit in edits:
        if isinstance(edit, RelationEdit) and id in edit.targets():
            other = edit.b if edit.a == id else edit.a
            held = edit.r in HOLDING and edit.b == id
            if held or (other not in listed and other not in spawned and not _holds(edit, id)):
                return True
    return False


def _holds(edit: RelationEdit, id: str) -> bool:
    return edit.r in HOLDING and edit.a == id


def pivot_of(id: str, graph: StateGraph, edits: Sequence[GraphEdit]) -> str | None:
    """What an object is attached to, before the event or after it."""
    for state in (graph, apply(graph, edits)):
        for edge in state.edges_of(id) if id in state else ():
            if edge.r == "attachment" and edge.b == id:
                return edge.a
    return None


def motion_of(
    id: str,
    graph: StateGraph,
    delta: PhysicalDelta,
    edits: Sequence[GraphEdit],
    motions: Sequence[Motion] = (),
) -> Motion:
    """The motion that the event gives an object, else the default that its edits imply (docs/graph.md)."""
    return next((entry for entry in motions if entry.o == id), None) or _default(id, graph, delta, edits)


def _default(id: str, graph: StateGraph, delta: PhysicalDelta, edits: Sequence[GraphEdit]) -> Motion:
    for edit in edits:
        if isinstance(edit, Spawn) and edit.id == id:
            return _appearing(edit, edits)
        if isinstance(edit, Consume) and edit.o == id:
            phase = graph.node(id).attributes.get("material_phase", "") if id in graph else ""
            return motion(id, "shrink" if "melt" in phase else "fade")
    updates = {edit.key: edit.value for edit in edits if isinstance(edit, Update) and edit.o == id}
    pose, extent = updates.get("configuration", ""), updates.get("extent")
    if any(word in pose for word in TIPPED):
        return motion(id, "tip", angle=-90.0 if "left" in pose else 90.0)
    if moved(id, delta, edits):
        return motion(id, "accelerating" if _falls(id, edits) else "linear")
    if extent is not None:
        return motion(id, "shrink" if any(word in extent for word in SMALLER) else "grow")
    return motion(id, "rest")


def _appearing(spawn: Spawn, edits: Sequence[GraphEdit]) -> Motion:
    phase = spawn.attributes.get("material_phase", "")
    holding = {edit.r for edit in edits if isinstance(edit, Link) and edit.b == spawn.id}
    if phase == "liquid" and "containment" in holding:
        return motion(spawn.id, "pour", way="up")
    if phase == "liquid" and "attachment" in holding:
        return motion(spawn.id, "pour")
    if phase == "liquid" and "support" in holding:
        return motion(spawn.id, "spread")
    return motion(spawn.id, "fade" if phase == "gas" else "grow")


def _falls(id: str, edits: Sequence[GraphEdit]) -> bool:
    """It is let go or no longer above something, or something new holds it."""
    for edit in edits:
        if isinstance(edit, RelationEdit) and RELATIONS.get(edit.r) is not None:
            let_go = isinstance(edit, Unlink) and edit.b == id and edit.r in HOLDING
            down = isinstance(edit, Unlink) and edit.a == id and edit.r == "above"
            if let_go or down or (isinstance(edit, Link) and edit.b == id and edit.r in HOLDING):
                return True
    return False
