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
DROPPED = 4.0  # how far a thing has fallen that has just left an edge
OUT = 6.0  # how far from what hid it a thing has come out
PARTED = 9.0  # how far from what it touched a thing has rolled that was set going
BESIDE = 6.0  # how far two things are apart that are near each other
PRESSED = 0.6  # how much lower than its upper edge a thing lies on another
ROLLED = 9.0  # how far a thing at most follows what it has tipped
SUBMERGED = 1.5  # how much lower what floats lies than where it stood
HIGHER = 4.0  # how much higher a thing at the zenith stands
STEEP = 75.0  # degrees
# Shares.
SUNK = 0.35  # of a hanging thing's height, by which its middle is below the edge of what carries it
ADRIFT = 0.82  # of the picture's width, where a thing ends that water has carried away
FALLEN = 0.42  # of the way down that a falling thing has made when it is seen to fall
BEGUN = 0.25  # and of one that has just begun to fall, since what held it is gone
OFF = 0.2  # of the width of what is below, at which a thing that has left an edge falls past that edge
FLOWN = 0.5  # of the height it fell, by which a thing that rolled off lands beyond the edge


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What else happens in the same state: things whose state changes, new and ended relations, poses so
    far."""

    setting: Setting
    changing: Set[str]
    links: Sequence[Link]
    unlinked: Sequence[Unlink]
    poses: Mapping[str, Pose]
    freed: Set[str] = frozenset()  # things whose carrier is gone

    def box(self, id: str) -> Box:
        return self.setting.boxes[id]

    def settled(self, id: str) -> bool:
        """Whether it comes to rest against or in something: that says where it is across."""
        touching = any(e.r == "contact" and id in (e.a, e.b) for e in self.links)
        return touching or self.linked("containment", b=id) or self.linked("above", a=id)

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
    """The content comes to lie on the vessel's floor, between its walls; past the middle, if it flew in."""
    vessel, content, unit = changes.box(link.a), changes.box(link.b), changes.setting.unit
    room = max(0.5 * (vessel.width - content.width) - WALL * unit, 0)
    there = content.x
    if any(u.r == "support" and u.b == link.b for u in changes.unlinked):
        there = vessel.x + (0.5 if content.x < vessel.x else -0.5) * room
    across = float(np.clip(there, vessel.x - room, vessel.x + room)) - content.x
    return Move(link.b, across, vessel.bottom - FLOOR * unit - content.bottom)


def _support(link: Link, changes: Changes) -> Move | None:
    """Down to the table, or to what is below; what has come down over something is placed by that.

    What has rolled down from something lies at its foot, unless another relation says where it is.
    """
    setting, box = changes.setting, changes.box(link.b)
    if changes.linked("containment", a=link.b):
        return None
    if setting.categories[link.a] != "table":
        return Move(link.b, down=setting.surface(link.a, box.x) + PRESSED * setting.unit - box.bottom)
    left = [u.a for u in changes.unlinked if u.r == "support" and u.b == link.b and u.a in setting.boxes]
    elsewhere = changes.settled(link.b) or changes.linked("left of", b=link.b)
    across = 0.0 if not left or elsewhere else changes.box(left[0]).right - box.left
    return Move(link.b, across, setting.table_row(setting.near[link.b]) - box.bottom)


def _contact(link: Link, changes: Changes) -> Move | None:
    """Up to the other; what is turned touches it already."""
    mover, other = (link.a, link.b) if link.a in changes.changing else (link.b, link.a)
    if mover in changes.poses and changes.poses[mover].angle:
        return None
    m, o = changes.box(mover), changes.box(other)
    way = o.left - m.right if m.x < o.x else o.right - m.left
    lean = changes.poses[other].angle if other in changes.poses else 0.0
    follows = min((o.bottom - m.y) * np.tan(np.radians(min(lean, STEEP))), ROLLED * changes.setting.unit)
    return Move(mover, way + (float(follows) if lean > 0 and m.x < o.x else 0.0))


def _near(link: Link, changes: Changes) -> Move | None:
    """Close to the other; what is turned or lowered has its place by that."""
    mover, other = (link.a, link.b) if link.a in changes.changing else (link.b, link.a)
    if mover in changes.poses or mover not in changes.changing:
        return None
    m, o, gap = changes.box(mover), changes.box(other), BESIDE * changes.setting.unit
    return Move(mover, o.left - gap - m.right if m.x < o.x else o.right + gap - m.left)


def _attachment(link: Link, changes: Changes) -> Move:
    """To the lower edge of what carries it, wherever that has moved."""
    carrier, part = changes.box(link.a).posed(changes.poses.get(link.a, Pose())), changes.box(link.b)
    return Move(link.b, carrier.x - part.x, carrier.bottom + SUNK * part.height - part.y)


def _above(link: Link, changes: Changes) -> Move:
    """What was let go is on its way down; anything else stands over the middle of the other.

    What has rolled over an edge is a little lower, and not far from the edge yet.
    """
    a, b = changes.box(link.a), changes.box(link.b)
    if any(u.b == link.a and u.r == "support" for u in changes.unlinked):
        if changes.setting.categories[link.b] == "table":
            return Move(link.a, down=DROPPED * changes.setting.unit)
        side = OFF if a.x < b.x else 1 - OFF
        return Move(link.a, b.left + side * b.width - a.x, DROPPED * changes.setting.unit)
    if any(u.b == link.a and u.r == "attachment" for u in changes.unlinked):
        return Move(link.a, down=FALLEN * (b.y - a.y))
    if link.a in changes.freed:
        return Move(link.a, down=BEGUN * (b.y - a.y))
    return Move(link.a, b.x - a.x, -HIGHER * changes.setting.unit)


def _left_of(link: Link, changes: Changes) -> Move | None:
    """What finds new support has rolled off a and flown a little; what was hidden has come out on that side;
    anything else goes to the other side."""
    a, b, setting = changes.box(link.a), changes.box(link.b), changes.setting
    if changes.linked("support", b=link.b):
        fall = setting.table_row(setting.near[link.b]) - b.bottom
        return Move(link.b, a.right + FLOWN * fall - b.left)
    mover, still = (link.a, b) if link.a in changes.changing else (link.b, a)
    if changes.settled(mover):
        return None
    if any(u.r == "in front of" and u.b == link.b for u in changes.unlinked):
        return Move(link.b, a.right + OUT * setting.unit - b.left)
    return Move(mover, 2 * (still.x - changes.box(mover).x))


def _in_front_of(link: Link, changes: Changes) -> Move | None:
    """The one that came from the left moves to the middle of the other."""
    came = any((u.a, u.r, u.b) == (link.a, "left of", link.b) for u in changes.unlinked)
    mover, still = (link.a, link.b) if came else (link.b, link.a)
    return None if changes.settled(mover) else Move(mover, changes.box(still).x - changes.box(mover).x)


def part(unlink: Unlink, changes: Changes) -> Move | None:
    """The move that ends a relation, where no new one says where the thing is: what was touched rolls off;
    what new water holds is carried to the far side."""
    mover, other = (unlink.a, unlink.b) if unlink.a in changes.changing else (unlink.b, unlink.a)
    if mover not in changes.changing or changes.settled(mover):
        return None
    m, o, setting = changes.box(mover), changes.box(other), changes.setting
    away = 1 if m.x > o.x else -1
    if unlink.r == "contact":
        return Move(mover, away * PARTED * setting.unit)
    afloat = any(e.r == "support" and e.b == mover and e.a not in setting.boxes for e in changes.links)
    if unlink.r == "near" and afloat:
        there = (ADRIFT if away > 0 else 1 - ADRIFT) * setting.width
        return Move(mover, there - m.x, SUBMERGED * setting.unit)
    return None


MOVES: Mapping[str, Callable[[Link, Changes], Move | None]] = {
    "containment": _containment,
    "support": _support,
    "contact": _contact,
    "near": _near,
    "attachment": _attachment,
    "above": _above,
    "left of": _left_of,
    "in front of": _in_front_of,
}
