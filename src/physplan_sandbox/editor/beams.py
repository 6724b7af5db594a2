"""Beams on a hinge (seesaw, balance): tilt, and the moves of what they carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from physplan.graph import StateGraph
from physplan_sandbox.editor.cutout import Pose
from physplan_sandbox.editor.frame_geometry import Beam, FrameGeometry
from physplan_sandbox.editor.linking import Move
from physplan_sandbox.parser import ROUND

#: The new slope in units of the one in the first frame, from which a beam tips to its other stop.
TILT_FACTORS: Mapping[str, float] = {"tipped to the left": -1.0, "level": 0.0, "tipped to the right": 1.0}
LEAN_SHIFT = 0.75  # of a ball's height, by which its middle moves across for each unit of slope


def tilted(pose: Pose, id: str, words: str, geometry: FrameGeometry) -> Pose | None:
    """A beam that tips to its other stop is its own mirror image; one that comes level is redrawn."""
    beam = geometry.beams[id]
    if _tilt_factor(words, beam) >= 0:
        return None
    return replace(pose, pivot=(beam.x, geometry.boxes[id].y), scale=(-1.0, 1.0))


def levelled_beams(graph: StateGraph, geometry: FrameGeometry) -> Iterator[str]:
    """The beams that have come level since the first frame."""
    for id in geometry.beams:
        if id in graph and graph.node(id).attributes.get("configuration") == "level":
            yield id


def carried_moves(id: str, graph: StateGraph, geometry: FrameGeometry) -> Iterator[Move]:
    """The moves of all that lies on a beam or hangs on it, and of what that holds in turn."""
    beam = geometry.beams[id]
    words = graph.node(id).attributes.get("configuration", "") if id in graph else ""
    if words not in TILT_FACTORS or _tilt_factor(words, beam) == 1.0:
        return
    for held in _held(id, graph, geometry):
        box = geometry.boxes[held]
        change = (_tilt_factor(words, beam) - 1.0) * beam.slope
        across = LEAN_SHIFT * change * box.height if geometry.categories[held] in ROUND else 0.0
        down = change * (box.x - beam.x)
        yield Move(held, across, down)
        for other in _held(held, graph, geometry):
            yield Move(other, across, down)


def _tilt_factor(words: str, beam: Beam) -> float:
    return TILT_FACTORS[words] if beam.slope > 0 else -TILT_FACTORS[words]


def _held(id: str, graph: StateGraph, geometry: FrameGeometry) -> Iterator[str]:
    for edge in graph.edges:
        if edge.a == id and edge.r in ("support", "attachment") and edge.b in geometry.boxes:
            yield edge.b
