"""Where things go: from the words of the net edits and the outlines in the first frame to poses, in pixels.

An edit says what shall hold, not where exactly: the distances chosen here are the editor's own judgement.
"""

from __future__ import annotations

from dataclasses import replace

from physplan.graph import Link, Unlink, Update
from physplan.keyframes.protocol import EditRequest
from physplan.sandbox.editor.cutout import Pose
from physplan.sandbox.editor.linking import Changes, move
from physplan.sandbox.editor.setting import Setting

TURNS = {
    "leaning to the right": 34.0,
    "leaning a little to the right": 9.0,
    "tipped onto the next": 63.0,
    "lying on its side": 90.0,
    "tipped over": 90.0,
}
SIZES = {"smaller": (0.86, 0.82), "larger": (1.15, 1.15), "short": (0.22, 0.85)}
#: How full a vessel gets, as a share of its height, and how much "a little higher" is.
LEVELS = {"half full": 0.38, "well filled": 0.60, "nearly full": 0.68}
A_LITTLE = 0.07


def poses(request: EditRequest, setting: Setting) -> dict[str, Pose]:
    """The new pose of each thing of the first frame that the net edits move, turn or scale."""
    event = request.chain.events[request.event]
    changing = {id for e in request.chain.events[: request.event + 1] for id in e.delta.objects()}
    found: dict[str, Pose] = {}
    links = [edit for edit in event.net_edits if isinstance(edit, Link)]
    unlinked = [edit for edit in event.net_edits if isinstance(edit, Unlink)]
    for edit in event.net_edits:
        if isinstance(edit, Update) and setting.known(edit.o) and edit.o in event.graph:
            _update(edit, setting, found, links)
    for link in links:
        if not setting.known(link.a, link.b):
            continue
        changes = Changes(setting=setting, changing=changing, links=links, unlinked=unlinked, poses=found)
        if (way := move(link, changes)) is not None:
            box = setting.boxes[way.id]
            before = found.get(way.id, Pose(pivot=(box.x, box.bottom)))
            found[way.id] = before.moved(way.right, way.down)
    return found


def _update(edit: Update, setting: Setting, found: dict[str, Pose], links: list[Link]) -> None:
    box = setting.boxes[edit.o]
    pose = found.get(edit.o, Pose(pivot=(box.x, box.bottom)))
    if edit.key == "configuration" and edit.value in TURNS:
        found[edit.o] = replace(pose, angle=TURNS[edit.value], pivot=(box.right, box.bottom))
    elif edit.key == "configuration" and edit.value == "lowered":
        under = [b for b in setting.boxes.values() if b.left < box.x < b.right and b.top > box.bottom]
        lowest = min((b.top for b in under if b.width < 0.5 * setting.height), default=0.8 * setting.height)
        near = any(link.r == "near" and edit.o in (link.a, link.b) for link in links)
        gap = (14.5 if near else 14) * setting.unit
        found[edit.o] = pose.moved(0, max(lowest - gap - box.bottom, 0))
    elif edit.key == "extent" and edit.value in SIZES and setting.categories[edit.o] != "water":
        found[edit.o] = replace(pose, scale=SIZES[edit.value])
        if setting.categories[edit.o] == "shadow":
            # It shrinks towards the foot of what casts it.
            posts = [b for id, b in setting.boxes.items() if setting.categories[id] == "post"]
            side = box.left if posts and posts[0].x < box.x else box.right
            found[edit.o] = replace(found[edit.o], pivot=(side, box.y))
