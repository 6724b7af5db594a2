"""Where things go: from the words of the net edits and the outlines in the first frame to poses, in pixels.

An edit says what shall hold, not where exactly: the distances chosen here are the editor's own judgement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from physplan.graph import Link, Unlink, Update
from physplan.keyframes.protocol import EditRequest
from physplan.sandbox.editor.cutout import Pose

Mask = NDArray[np.bool_]

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


@dataclass(frozen=True, kw_only=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def of(cls, mask: Mask) -> Box:
        rows, columns = np.nonzero(mask)
        return cls(left=columns.min(), top=rows.min(), right=columns.max() + 1.0, bottom=rows.max() + 1.0)

    @property
    def x(self) -> float:
        return 0.5 * (self.left + self.right)

    @property
    def y(self) -> float:
        return 0.5 * (self.top + self.bottom)

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def posed(self, pose: Pose) -> Box:
        corners = [pose.apply(x, y) for x in (self.left, self.right) for y in (self.top, self.bottom)]
        xs, ys = zip(*corners, strict=True)
        return Box(left=min(xs), top=min(ys), right=max(xs), bottom=max(ys))


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The first frame as the editor sees it: outlines, depths, and how large a world unit is."""

    boxes: Mapping[str, Box]
    near: Mapping[str, float]
    categories: Mapping[str, str]
    unit: float
    height: int
    horizon: int
    table_rows: NDArray[np.float32]  # the table's depth in each row from the horizon on

    @classmethod
    def of(
        cls, masks: Mapping[str, Mask], depth: NDArray[np.float32], categories: Mapping[str, str]
    ) -> Setting:
        tables = [mask for id, mask in masks.items() if categories[id] == "table"]
        height = depth.shape[0]
        horizon = height if not tables else int(np.argmax(tables[0].mean(1) > 0.02))
        rows = [
            float(np.median(depth[row][tables[0][row]])) if tables and tables[0][row].any() else np.nan
            for row in range(horizon, height)
        ]
        return cls(
            boxes={id: Box.of(mask) for id, mask in masks.items()},
            near={id: float(np.median(depth[mask])) for id, mask in masks.items()},
            categories=categories,
            unit=height / 96,
            height=height,
            horizon=horizon,
            table_rows=np.asarray(rows, dtype=np.float32),
        )

    def table_row(self, near: float) -> float:
        """The picture row on which a thing of this depth stands."""
        if not self.table_rows.size or np.isnan(self.table_rows).all():
            return 0.85 * self.height
        return float(self.horizon + np.nanargmin(np.abs(self.table_rows - near)) + 1)

    def known(self, *ids: str) -> bool:
        return all(id in self.boxes for id in ids)


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
    for edit in links:
        if setting.known(edit.a, edit.b):
            _link(edit, setting, found, changing, links, unlinked)
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


def _link(
    edit: Link,
    setting: Setting,
    found: dict[str, Pose],
    changing: set[str],
    links: list[Link],
    unlinked: list[Unlink],
) -> None:
    a, b = setting.boxes[edit.a], setting.boxes[edit.b]
    unit = setting.unit

    def shift(id: str, dx: float, dy: float) -> None:
        box = setting.boxes[id]
        found[id] = found.get(id, Pose(pivot=(box.x, box.bottom))).moved(dx, dy)

    if edit.r == "containment" and edit.a in changing and edit.b not in changing:
        shift(edit.a, np.clip(b.x - a.x, -4 * unit, 4 * unit), b.bottom + 1.5 * unit - a.bottom)
    elif edit.r == "containment" and edit.b in changing:
        room = max(0.5 * (a.width - b.width) - 3 * unit, 0)
        shift(edit.b, np.clip(b.x, a.x - room, a.x + room) - b.x, a.bottom - 2.6 * unit - b.bottom)
    elif edit.r == "support" and setting.categories[edit.a] == "table":
        if any(link.r == "containment" and link.a == edit.b for link in links):
            return  # it has come down over something: placed by that
        row = setting.table_row(setting.near[edit.b])
        shift(edit.b, 0, row - b.bottom)
    elif edit.r == "left of" and any(link.r == "support" and link.b == edit.b for link in links):
        fall = setting.table_row(setting.near[edit.b]) - b.bottom
        shift(edit.b, a.right + 0.5 * fall - b.left, 0)  # it has rolled off a and flown a little
    elif edit.r == "contact" and not _turned(edit, found):
        mover, other = (edit.a, edit.b) if edit.a in changing else (edit.b, edit.a)
        m, o = setting.boxes[mover], setting.boxes[other]
        shift(mover, o.left - m.right if m.x < o.x else o.right - m.left, 0)
    elif edit.r == "attachment":
        carrier = a.posed(found.get(edit.a, Pose()))
        shift(edit.b, carrier.x - b.x, carrier.bottom + 0.35 * b.height - b.y)
    elif edit.r == "above":
        free = any(u.b == edit.a and u.r == "attachment" for u in unlinked)
        if free:
            shift(edit.a, 0, 0.42 * (b.y - a.y))  # on its way down
        else:
            shift(edit.a, b.x - a.x, -4 * unit)
    elif edit.r == "left of":
        mover, still = (edit.a, b) if edit.a in changing else (edit.b, a)
        shift(mover, 2 * (still.x - setting.boxes[mover].x), 0)  # to the other side
    elif edit.r == "in front of":
        mover, still = (edit.a, b) if _was_aside(edit.a, edit.b, unlinked) else (edit.b, a)
        shift(mover, still.x - setting.boxes[mover].x, 0)


def _turned(edit: Link, found: Mapping[str, Pose]) -> bool:
    return any(found[id].angle for id in (edit.a, edit.b) if id in found)


def _was_aside(a: str, b: str, unlinked: list[Unlink]) -> bool:
    """Whether it was a that came from the left of b."""
    return any((u.a, u.r, u.b) == (a, "left of", b) for u in unlinked)
