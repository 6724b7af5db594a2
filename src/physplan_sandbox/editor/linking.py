"""Placement rules: one per relation, from the geometry of the first frame to a move in pixels.

A relation fixes what holds, not where; the distances below are the editor's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from physplan.graph import Link, Unlink
from physplan_sandbox.editor.cutout import Pose
from physplan_sandbox.editor.frame_geometry import Box, FrameGeometry

# Distances in world units (96 per image height).
MAX_SIDEWAYS = 4.0  # of a vessel that is put over something
RIM_DROP = 1.5  # of the vessel's rim below the foot of its content
WALL_THICKNESS = 3.0  # of a vessel, with clearance
FLOOR_THICKNESS = 2.6  # of a vessel
EDGE_DROP = 4.0  # fall of an object that has just left an edge
REVEAL_DISTANCE = 6.0  # gap between an occluder and the object that leaves it
ROLL_AWAY_DISTANCE = 9.0  # gap after a contact ends
NEAR_GAP = 6.0  # gap for the relation near
REST_OVERLAP = 0.6  # by which an object sinks into its support
MAX_FOLLOW = 9.0  # of an object after the one it tipped
FLOAT_DEPTH = 1.5  # by which a floating object is lowered
ZENITH_RISE = 4.0  # of an object at the zenith
MAX_LEAN_DEGREES = 75.0  # largest lean that moves the object touching it
# Fractions.
HANG_SHARE = 0.35  # of a hanging object's height: its centre below the carrier's edge
DRIFT_END_SHARE = 0.82  # of the image width: where water carries an object
FALLING_SHARE = 0.42  # of the fall that a keyframe shows
FALL_START_SHARE = 0.25  # the same just after the carrier is gone
EDGE_OFFSET_SHARE = 0.2  # of the width below: horizontal offset past the edge
LANDING_SHARE = 0.5  # of the height fallen: landing distance from the edge


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Context of a state: changing objects, new and ended relations, poses assigned so far."""

    geometry: FrameGeometry
    changing: Set[str]
    links: Sequence[Link]
    unlinked: Sequence[Unlink]
    poses: Mapping[str, Pose]
    freed: Set[str] = frozenset()  # objects whose carrier is gone

    def box(self, id: str) -> Box:
        return self.geometry.boxes[id]

    def settled(self, id: str) -> bool:
        """Whether a contact, a container or a relation above fixes its horizontal position."""
        touching = any(e.r == "contact" and id in (e.a, e.b) for e in self.links)
        return touching or self.linked("containment", b=id) or self.linked("above", a=id)

    def linked(self, relation: str, *, a: str | None = None, b: str | None = None) -> bool:
        """Whether such a relation is new; None matches any object."""
        return any(e.r == relation and a in (None, e.a) and b in (None, e.b) for e in self.links)


@dataclass(frozen=True)
class Move:
    """A translation of an object, in pixels."""

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
    vessel, content, unit = changes.box(link.a), changes.box(link.b), changes.geometry.unit
    across = float(np.clip(content.x - vessel.x, -MAX_SIDEWAYS * unit, MAX_SIDEWAYS * unit))
    return Move(link.a, across, content.bottom + RIM_DROP * unit - vessel.bottom)


def _put_into(link: Link, changes: Changes) -> Move:
    """The content comes to lie on the vessel's floor, between its walls; past the middle, if it flew in."""
    vessel, content, unit = changes.box(link.a), changes.box(link.b), changes.geometry.unit
    room = max(0.5 * (vessel.width - content.width) - WALL_THICKNESS * unit, 0)
    there = content.x
    if any(u.r == "support" and u.b == link.b for u in changes.unlinked):
        there = vessel.x + (0.5 if content.x < vessel.x else -0.5) * room
    across = float(np.clip(there, vessel.x - room, vessel.x + room)) - content.x
    return Move(link.b, across, vessel.bottom - FLOOR_THICKNESS * unit - content.bottom)


def _support(link: Link, changes: Changes) -> Move | None:
    """Down to the table, or to what is below; what has come down over something is placed by that.

    What has rolled down from something lies at its foot, unless another relation says where it is.
    """
    geometry, box = changes.geometry, changes.box(link.b)
    if changes.linked("containment", a=link.b):
        return None
    if geometry.categories[link.a] != "table":
        return Move(link.b, down=geometry.surface(link.a, box.x) + REST_OVERLAP * geometry.unit - box.bottom)
    left = [u.a for u in changes.unlinked if u.r == "support" and u.b == link.b and u.a in geometry.boxes]
    elsewhere = changes.settled(link.b) or changes.linked("left of", b=link.b)
    across = 0.0 if not left or elsewhere else changes.box(left[0]).right - box.left
    return Move(link.b, across, geometry.table_row(geometry.near[link.b]) - box.bottom)


def _contact(link: Link, changes: Changes) -> Move | None:
    """Up to the other; what is turned touches it already."""
    mover, other = (link.a, link.b) if link.a in changes.changing else (link.b, link.a)
    if mover in changes.poses and changes.poses[mover].angle:
        return None
    m, o = changes.box(mover), changes.box(other)
    way = o.left - m.right if m.x < o.x else o.right - m.left
    lean = changes.poses[other].angle if other in changes.poses else 0.0
    follows = min(
        (o.bottom - m.y) * np.tan(np.radians(min(lean, MAX_LEAN_DEGREES))), MAX_FOLLOW * changes.geometry.unit
    )
    return Move(mover, way + (float(follows) if lean > 0 and m.x < o.x else 0.0))


def _near(link: Link, changes: Changes) -> Move | None:
    """Close to the other; what is turned or lowered has its place by that."""
    mover, other = (link.a, link.b) if link.a in changes.changing else (link.b, link.a)
    if mover in changes.poses or mover not in changes.changing:
        return None
    m, o, gap = changes.box(mover), changes.box(other), NEAR_GAP * changes.geometry.unit
    return Move(mover, o.left - gap - m.right if m.x < o.x else o.right + gap - m.left)


def _attachment(link: Link, changes: Changes) -> Move:
    """To the lower edge of what carries it, wherever that has moved."""
    carrier, part = changes.box(link.a).posed(changes.poses.get(link.a, Pose())), changes.box(link.b)
    return Move(link.b, carrier.x - part.x, carrier.bottom + HANG_SHARE * part.height - part.y)


def _above(link: Link, changes: Changes) -> Move:
    """What was let go is on its way down; anything else stands over the middle of the other.

    What has rolled over an edge is a little lower, and not far from the edge yet.
    """
    a, b = changes.box(link.a), changes.box(link.b)
    if any(u.b == link.a and u.r == "support" for u in changes.unlinked):
        if changes.geometry.categories[link.b] == "table":
            return Move(link.a, down=EDGE_DROP * changes.geometry.unit)
        side = EDGE_OFFSET_SHARE if a.x < b.x else 1 - EDGE_OFFSET_SHARE
        return Move(link.a, b.left + side * b.width - a.x, EDGE_DROP * changes.geometry.unit)
    if any(u.b == link.a and u.r == "attachment" for u in changes.unlinked):
        return Move(link.a, down=FALLING_SHARE * (b.y - a.y))
    if link.a in changes.freed:
        return Move(link.a, down=FALL_START_SHARE * (b.y - a.y))
    return Move(link.a, b.x - a.x, -ZENITH_RISE * changes.geometry.unit)


def _left_of(link: Link, changes: Changes) -> Move | None:
    """What finds new support has rolled off a and flown a little; what was hidden has come out on that side;
    anything else goes to the other side."""
    a, b, geometry = changes.box(link.a), changes.box(link.b), changes.geometry
    if changes.linked("support", b=link.b):
        fall = geometry.table_row(geometry.near[link.b]) - b.bottom
        return Move(link.b, a.right + LANDING_SHARE * fall - b.left)
    mover, still = (link.a, b) if link.a in changes.changing else (link.b, a)
    if changes.settled(mover):
        return None
    if any(u.r == "in front of" and u.b == link.b for u in changes.unlinked):
        return Move(link.b, a.right + REVEAL_DISTANCE * geometry.unit - b.left)
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
    m, o, geometry = changes.box(mover), changes.box(other), changes.geometry
    away = 1 if m.x > o.x else -1
    if unlink.r == "contact":
        return Move(mover, away * ROLL_AWAY_DISTANCE * geometry.unit)
    afloat = any(e.r == "support" and e.b == mover and e.a not in geometry.boxes for e in changes.links)
    if unlink.r == "near" and afloat:
        there = (DRIFT_END_SHARE if away > 0 else 1 - DRIFT_END_SHARE) * geometry.width
        return Move(mover, there - m.x, FLOAT_DEPTH * geometry.unit)
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
