"""Where things go: from the words of the net edits and the outlines in the first frame to poses, in pixels.

An edit says what shall hold, not where exactly: the distances chosen here are the editor's own judgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from physplan.graph import Link, Unlink, Update
from physplan.keyframes.protocol import EditRequest
from physplan_sandbox.editor.beams import TILT_FACTORS, carried_moves, tilted
from physplan_sandbox.editor.cutout import Pose
from physplan_sandbox.editor.frame_geometry import Box, FrameGeometry
from physplan_sandbox.editor.linking import Changes, move, part

TURN_DEGREES = {
    "leaning to the right": 34.0,
    "leaning a little to the right": 9.0,
    "tipped onto the next": 63.0,
    "lying on its side": 90.0,
    "tipped over": 90.0,
}
SIZE_FACTORS = {"smaller": (0.86, 0.80), "larger": (1.15, 1.15), "short": (0.22, 0.85)}
#: How full a vessel gets, as a share of its height, and how much "a little higher" is.
FILL_LEVELS = {
    "half full": 0.38,
    "more than half full": 0.53,
    "well filled": 0.60,
    "nearly full": 0.68,
    "full to the brim": 0.94,
}
LEVEL_STEP = 0.07
LOWERED_GAP, NEAR_GAP = 14.0, 14.5  # world units above what is below; the latter where the words say near
THROW_HEIGHT = 33.0  # world units: how high a thing flies that a seesaw throws
MAX_TARGET_WIDTH = 0.5  # of the picture: what is wider is not what a thing is lowered towards
DEFAULT_FLOOR = 0.8  # of the picture's height, where there is nothing below


def poses(request: EditRequest, geometry: FrameGeometry) -> dict[str, Pose]:
    """The new pose of each thing of the first frame that the net edits move, turn or scale."""
    event = request.chain.events[request.event]
    changing = {id for e in request.chain.events[: request.event + 1] for id in e.delta.objects()}
    found: dict[str, Pose] = {}

    def now(id: str) -> Pose:
        box = geometry.boxes[id]
        return found.get(id, Pose(pivot=(box.x, box.bottom)))

    links = [edit for edit in event.net_edits if isinstance(edit, Link)]
    unlinked = [edit for edit in event.net_edits if isinstance(edit, Unlink)]
    for edit in event.net_edits:
        if isinstance(edit, Update) and geometry.known(edit.o) and edit.o in event.graph:
            pose = _updated(now(edit.o), edit, geometry, links)
            if pose is not None:
                found[edit.o] = pose
    attachments = (e for e in request.chain.graph.edges if e.r == "attachment")
    freed = {e.b for e in attachments if e.a not in event.graph}
    changes = Changes(
        geometry=geometry, changing=changing, links=links, unlinked=unlinked, poses=found, freed=freed
    )
    for link in links:
        if geometry.known(link.a, link.b) and (way := move(link, changes)) is not None:
            found[way.id] = now(way.id).moved(way.right, way.down)
    for unlink in unlinked:
        if geometry.known(unlink.a, unlink.b) and (way := part(unlink, changes)) is not None:
            found[way.id] = now(way.id).moved(way.right, way.down)
    for id in geometry.beams:
        for way in carried_moves(id, event.graph, geometry):
            found[way.id] = now(way.id).moved(way.right, way.down)
    return found


def _updated(pose: Pose, edit: Update, geometry: FrameGeometry, links: Sequence[Link]) -> Pose | None:
    """The pose after an update of configuration or extent; None where that does not change it."""
    box = geometry.boxes[edit.o]
    if edit.key == "configuration" and edit.value in TURN_DEGREES:
        return replace(pose, angle=TURN_DEGREES[edit.value], pivot=(box.right, box.bottom))
    if edit.key == "configuration" and edit.o in geometry.beams and edit.value in TILT_FACTORS:
        return tilted(pose, edit.o, edit.value, geometry)
    if edit.key == "configuration" and edit.value == "flying":
        return pose.moved(0, -THROW_HEIGHT * geometry.unit)
    if edit.key == "configuration" and edit.value == "lowered":
        near = any(link.r == "near" and edit.o in (link.a, link.b) for link in links)
        gap = (NEAR_GAP if near else LOWERED_GAP) * geometry.unit
        return pose.moved(0, max(_floor_below(box, geometry) - gap - box.bottom, 0))
    if edit.key == "extent" and edit.value in SIZE_FACTORS and geometry.categories[edit.o] != "water":
        scaled = replace(pose, scale=SIZE_FACTORS[edit.value])
        if _on_slope(box, edit.o, geometry):
            # Askew, it keeps the corner in which the slope meets what leans on it.
            return replace(
                scaled, scale=(SIZE_FACTORS[edit.value][1],) * 2, pivot=(box.left, box.y + 0.1 * box.height)
            )
        return _towards_post(scaled, box, geometry) if geometry.categories[edit.o] == "shadow" else scaled
    return None


def _floor_below(box: Box, geometry: FrameGeometry) -> float:
    """The upper edge of the highest thing below, but for the table."""
    under = [b for b in geometry.boxes.values() if b.left < box.x < b.right and b.top > box.bottom]
    return min(
        (b.top for b in under if b.width < MAX_TARGET_WIDTH * geometry.height),
        default=DEFAULT_FLOOR * geometry.height,
    )


def _on_slope(box: Box, id: str, geometry: FrameGeometry) -> bool:
    ramps = [b for other, b in geometry.boxes.items() if geometry.categories[other] == "ramp" and other != id]
    return any(b.left < box.x < b.right and box.bottom < b.bottom - geometry.unit for b in ramps)


def _towards_post(pose: Pose, shadow: Box, geometry: FrameGeometry) -> Pose:
    """A shadow shrinks towards the foot of what casts it."""
    posts = [b for id, b in geometry.boxes.items() if geometry.categories[id] == "post"]
    side = shadow.left if posts and posts[0].x < shadow.x else shadow.right
    return replace(pose, pivot=(side, shadow.y))
