"""Plan ablations: (i) from the prompt alone, (ii) full graphs regenerated per state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from PIL import Image
from scipy.optimize import linear_sum_assignment

from physplan.graph import Event, EventChain, GraphEdit, InvalidEdit, Spawn, StateGraph, apply
from physplan.graph.net_differences import net_difference
from physplan.graph.timing import anchors
from physplan.perception import DepthEstimator, Segmenter
from physplan.pictures import to_tensor
from physplan_sandbox.parser import Seen, describe, look
from physplan_sandbox.prompts import matching
from physplan_sandbox.rules import Case, instantiate, table_role


def prompt_only_plan(prompt: str, graph: StateGraph, num_frames: int) -> EventChain:
    """(i): the phenomenon's first case, independent of the scene.

    Roles are assigned to the first objects of their categories; edits without an object are dropped, and
    nothing is checked.
    """
    case = next(iter(matching(prompt).cases.values()))
    deltas, edits = instantiate(case, _assign_roles(case, graph), graph)
    events = []
    current = graph
    spawns: dict[str, Spawn] = {}
    for delta, edit_set, anchor in zip(
        deltas, edits, anchors([delta.fraction for delta in deltas], num_frames), strict=True
    ):
        current, made = _apply_what_fits(current, edit_set)
        spawns |= {edit.id: edit for edit in made if isinstance(edit, Spawn)}
        events.append(Event(delta, made, current, tuple(net_difference(graph, current, spawns)), anchor))
    return EventChain(prompt, num_frames, graph, tuple(events), {"plan": "from the words alone"})


def _assign_roles(case: Case, graph: StateGraph) -> dict[str, str]:
    """Role -> the first free object of its category, or an identifier that does not exist."""
    bound = dict(table_role(graph))
    for role, category in case.roles.items():
        free = (n.id for n in graph.nodes if n.category == category and n.id not in bound.values())
        bound[role] = next(free, f"{category}#0")
    return bound


def _apply_what_fits(
    graph: StateGraph, edits: Sequence[GraphEdit]
) -> tuple[StateGraph, tuple[GraphEdit, ...]]:
    made: list[GraphEdit] = []
    for edit in sorted(edits, key=lambda edit: not isinstance(edit, Spawn)):  # others may name what is new
        if isinstance(edit, Spawn) and edit.source not in graph:
            continue
        try:
            apply(graph, [*made, edit])
        except InvalidEdit:
            continue
        made.append(edit)
    return apply(graph, made), tuple(made)


def full_graph_plan(
    chain: EventChain,
    picture: Image.Image,
    keyframes: Sequence[Image.Image],
    *,
    segmenter: Segmenter,
    depth: DepthEstimator,
) -> EventChain:
    """(ii): each state's full graph is parsed from its keyframe; edits are the differences to the first.

    Parsing errors become edits like any other: nothing is checked.
    """
    first = look(to_tensor(picture), segmenter=segmenter, depth=depth)
    spawns: dict[str, Spawn] = {}
    returns = {node.id: Spawn(node.id, node.id, node.category, {}) for node in chain.graph.nodes}
    events: list[Event] = []
    for event, keyframe in zip(chain.events, keyframes, strict=True):
        image = to_tensor(keyframe)
        seen = _identified(look(image, segmenter=segmenter, depth=depth), first, chain.graph, spawns)
        graph = describe(seen, image.permute(1, 2, 0).float().numpy())
        before = events[-1].graph if events else chain.graph
        events.append(
            replace(
                event,
                graph=graph,
                edits=tuple(net_difference(before, graph, returns | spawns)),  # overlooked once, there again
                net_edits=tuple(net_difference(chain.graph, graph, spawns)),
            )
        )
    return replace(chain, events=tuple(events), provenance={**chain.provenance, "plan": "whole graphs anew"})


def _identified(
    seen: Sequence[Seen], first: Sequence[Seen], graph: StateGraph, spawns: dict[str, Spawn]
) -> list[Seen]:
    """Objects of a later frame under the ids of the first, matched by distance within a category.

    Unmatched objects are new, with the nearest object as their source; they are added to `spawns`.
    """
    names: dict[int, str] = {}
    for category in dict.fromkeys(thing.place.category for thing in seen):
        now = [i for i, thing in enumerate(seen) if thing.place.category == category]
        then = [thing for thing in first if thing.place.category == category]
        apart = np.array([[_distance(seen[i], thing) for thing in then] for i in now]).reshape(len(now), -1)
        for row, column in zip(*linear_sum_assignment(apart), strict=True):
            names[now[row]] = then[column].place.id
        known = [id for id, spawn in spawns.items() if spawn.category == category]
        for i in (i for i in now if i not in names):
            names[i] = known.pop(0) if known else f"{category}#{len(graph.nodes) + len(spawns) + 1}"
            if names[i] not in spawns:
                source = min(first, key=lambda thing, i=i: _distance(seen[i], thing)).place.id  # type: ignore[misc]
                spawns[names[i]] = Spawn(names[i], source, category, {})
    return [replace(thing, place=replace(thing.place, id=names[i])) for i, thing in enumerate(seen)]


def _distance(a: Seen, b: Seen) -> float:
    (left, top, right, bottom), (l, t, r, low) = a.place.box, b.place.box
    return float(np.hypot(left + right - l - r, top + bottom - t - low)) / 2
