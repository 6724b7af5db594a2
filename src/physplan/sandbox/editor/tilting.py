"""Beams on a hinge, a seesaw or a balance: how they tip, and where that takes what they carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from physplan.graph import StateGraph
from physplan.sandbox.editor.cutout import Pose
from physplan.sandbox.editor.linking import Move
from physplan.sandbox.editor.setting import Beam, Setting
from physplan.sandbox.parser import ROUND

#: The new slope in units of the one in the first frame, from which a beam tips to its other stop.
TILTS: Mapping[str, float] = {"tipped to the left": -1.0, "level": 0.0, "tipped to the right": 1.0}
LEANS = 0.75  # of a ball's height, by which its middle moves across for each unit of slope


def tilted(pose: Pose, id: str, words: str, setting: Setting) -> Pose | None:
    """A beam that tips to its other stop is its own mirror image; one that comes level is drawn anew."""
    beam = setting.beams[id]
    if _turned(words, beam) >= 0:
        return None
    return replace(pose, pivot=(beam.x, setting.boxes[id].y), scale=(-1.0, 1.0))


def levelled(graph: StateGraph, setting: Setting) -> Iterator[str]:
    """The beams that have come level since the first frame."""
    for id in setting.beams:
        if id in graph and graph.node(id).attributes.get("configuration") == "level":
            yield id


def carried(id: str, graph: StateGraph, setting: Setting) -> Iterator[Move]:
    """The moves of all that lies on a beam or hangs on it, and of what that holds in turn."""
    beam = setting.beams[id]
    words = graph.node(id).attributes.get("configuration", "") if id in graph else ""
    if words not in TILTS or _turned(words, beam) == 1.0:
        return
    for held in _held(id, graph, setting):
        box = setting.boxes[held]
        change = (_turned(words, beam) - 1.0) * beam.slope
        across = LEANS * change * box.height if setting.categories[held] in ROUND else 0.0
        down = change * (box.x - beam.x)
        yield Move(held, across, down)
        for other in _held(held, graph, setting):
            yield Move(other, across, down)


def _turned(words: str, beam: Beam) -> float:
    return TILTS[words] if beam.slope > 0 else -TILTS[words]


def _held(id: str, graph: StateGraph, setting: Setting) -> Iterator[str]:
    for edge in graph.edges:
        if edge.a == id and edge.r in ("support", "attachment") and edge.b in setting.boxes:
            yield edge.b
