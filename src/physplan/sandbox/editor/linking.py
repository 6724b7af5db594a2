"""Where a new relation puts a thing: one small rule per relation, from the outlines of the first frame.

A relation says what shall hold, not where exactly: the distances here are the editor's own judgement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from physplan.graph import Link, Unlink
from physplan.sandbox.editor.cutout import Pose
from physplan.sandbox.editor.setting import Box, Setting

# Distances in world units (96 to the picture's height).
ASIDE = 4.0  # how far a vessel moves sideways while it is put over something
RIM_BELOW = 1.5  # how far its rim then reaches below the foot of what is in it
WALL = 3.0  # the thickness of a vessel's wall, with some air
FLOOR = 2.6  # and of its floor
HIGHER = 4.0  # how much higher a thing at the zenith stands
# Shares.
SUNK = 0.35  # of a hanging thing's height, by which its middle is below the edge of what carries it
FALLEN = 0.42  # of the way down that a falling thing has made when it is seen to fall
FLOWN = 0.5  # of the height it fell, by which a thing that rolled off lands beyond the edge


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What else happens in the same state: things that change, new and ended relations, poses so far."""

    setting: Setting
    changing: Set[str]
    links: Sequence[Link]
    unlinked: Sequence[Unlink]
    poses: Mapping[str, Pose]

    def box(self, id: str) -> Box:
        return self.setting.boxes[id]

    def linked(self, relation: str, *, a: str | None = None, b: str | None = None) -> bool:
        """Whether there is such a new relation; None stands for anything."""
        return any(e.r == relation and a in (None, e.a) and b in (None, e.b) for e in self.links)


@dataclass(frozen=True)
class Move:
    """A thing's way across and down, in pixels."""

    id: str
    right: float = 0.0
    down: float = 0.0


def move(link: Link, changes: Changes) -> Move | None:
    """The move that makes a relation true; None where nothing has to move for it."""
    rule = MOVES.get(link.r)
    return None if rule is None else rule(link, changes)


def _containment(link: Link, changes: Changes) -> Move | None:
    if link.a in changes.changing and link.b not in changes.changing:
        return _put_over(link, changes)
    return _put_into(link, changes) if link.b in changes.changing else None


def _put_over(link: Link, changes: Changes) -> Move:
    """The vessel comes down over what it will hold."""
    vessel, content, unit = changes.box(link.a), changes.box(link.b), changes.setting.unit
    across = float(np.clip(content.x - vessel.x, -ASIDE * unit, ASIDE * unit))
    return Move(link.a, across, content.bottom + RIM_BELOW * unit - vessel.bottom)


def _put_into(link: Link, changes: Changes) -> Move:
    """The content comes to lie on the vessel's floor, between its walls."""
    vessel, content, unit = changes.box(link.a), changes.box(link.b), changes.setting.unit
    room = max(0.5 * (vessel.width - content.width) - WALL * unit, 0)
    across = float(np.clip(content.x, vessel.x - room, vessel.x + room)) - content.x
    return Move(link.b, across, vessel.bottom - FLOOR * unit - content.bottom)


def _support(link: Link, changes: Changes) -> Move | None:
    """Down to the table; what has come down over something is placed by that."""
    setting = changes.setting
    if setting.categories[link.a] != "table" or changes.linked("containment", a=link.b):
        return None
    return Move(link.b, down=setting.table_row(setting.near[link.b]) - changes.box(link.b).bottom)


def _contact(link: Link, changes: Changes) -> Move | None:
    """Up to the other; what is turned touches it already."""
    if any(changes.poses[id].angle for id in (link.a, link.b) if id in changes.poses):
        return None
    mover, other = (link.a, link.b) if link.a in changes.changing else (link.b, link.a)
    m, o = changes.box(mover), changes.box(other)
    return Move(mover, o.left - m.right if m.x < o.x else o.right - m.left)


def _attachment(link: Link, changes: Changes) -> Move:
    """To the lower edge of what carries it, wherever that has moved."""
    carrier, part = changes.box(link.a).posed(changes.poses.get(link.a, Pose())), changes.box(link.b)
    return Move(link.b, carrier.x - part.x, carrier.bottom + SUNK * part.height - part.y)


def _above(link: Link, changes: Changes) -> Move:
    """What was let go is on its way down; anything else stands over the middle of the other."""
    a, b = changes.box(link.a), changes.box(link.b)
    if any(u.b == link.a and u.r == "attachment" for u in changes.unlinked):
        return Move(link.a, down=FALLEN * (b.y - a.y))
    return Move(link.a, b.x - a.x, -HIGHER * changes.setting.unit)


def _left_of(link: Link, changes: Changes) -> Move:
    """What finds new support has rolled off a and flown a little; anything else goes to the other side."""
    a, b, setting = changes.box(link.a), changes.box(link.b), changes.setting
    if changes.linked("support", b=link.b):
        fall = setting.table_row(setting.near[link.b]) - b.bottom
        return Move(link.b, a.right + FLOWN * fall - b.left)
    mover, still = (link.a, b) if link.a in changes.changing else (link.b, a)
    return Move(mover, 2 * (still.x - changes.box(mover).x))


def _in_front_of(link: Link, changes: Changes) -> Move:
    """The one that came from the left moves to the middle of the other."""
    came = any((u.a, u.r, u.b) == (link.a, "left of", link.b) for u in changes.unlinked)
    mover, still = (link.a, link.b) if came else (link.b, link.a)
    return Move(mover, changes.box(still).x - changes.box(mover).x)


MOVES: Mapping[str, Callable[[Link, Changes], Move | None]] = {
    "containment": _containment,
    "support": _support,
    "contact": _contact,
    "attachment": _attachment,
    "above": _above,
    "left of": _left_of,
    "in front of": _in_front_of,
}
