"""Which relations hold between things of known place: conventions that parser and truth share.

Boxes and depths are fractions: of the picture, and of the way from the wall to the camera. Spatial relations
are kept few: recorded in the middle row, where things act on each other, and between neighbours only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MIN_NEARNESS = 0.14  # what is not nearer than this hangs at the wall, like the sun
MIDDLE = (0.35, 0.85)  # depths of the row in which things act on each other
TOUCHING, NEAR = 0.015, 0.10  # gaps between two things on one support
DEPTH_STEP = 0.1
FRONT_OVERLAP = 0.15  # of the smaller box, for one thing to be in front of another
BESIDE_OVERLAP = 0.03  # how far two boxes may reach into each other and still be side by side

DISHES = ("pan",)  # parts of something that hold things all the same
LARGE_WIDTH = 0.16  # of the picture's width, from which on a weight is called large

Triple = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A thing's box (left, top, right, bottom) and depth (larger is nearer)."""

    id: str
    category: str
    box: tuple[float, float, float, float]
    near: float

    @property
    def x(self) -> float:
        return 0.5 * (self.box[0] + self.box[2])

    @property
    def height(self) -> float:
        return self.box[3] - self.box[1]

    @property
    def in_middle(self) -> bool:
        return MIDDLE[0] <= self.near <= MIDDLE[1]


def spatial_relations(places: Sequence[Place], physical: Sequence[Triple], table: str | None) -> set[Triple]:
    """Contact, near, above, left of and in front of, given what holds, contains and carries what."""
    held = {b: (a, r) for a, r, b in physical}
    # The depth of what hangs in the air is the hardest to see: unless it is at the wall, it is in the middle.
    middle = [
        p for p in places if p.id != table and (p.in_middle or (p.id not in held and p.near > MIN_NEARNESS))
    ]
    standing = [p for p in middle if held.get(p.id) == (table, "support")]
    air = [p for p in middle if p.id not in held]
    dishes = [p for p in middle if p.category in DISHES]
    above = dict(_above(air, [*dishes, *standing], table))
    found: set[Triple] = {(a, "above", b) for a, b in above.items()} | set(_neighbours(dishes))
    for below in {b for b in above.values() if b != table}:
        found |= set(_neighbours([p for p in air if above.get(p.id) == below]))
    for sky in (p for p in places if p.near <= MIN_NEARNESS and p.id not in held and p.id != table):
        found |= {_ordered(sky, p) for p in standing}
    for part in (p for p in middle if held.get(p.id, ("", ""))[1] == "attachment"):
        whole = next(p for p in places if p.id == held[part.id][0])
        if not whole.box[0] <= part.x <= whole.box[2]:
            found.add(_ordered(part, whole))
    # What hangs above an object has its place by that; parts and contents have theirs by the whole.
    row = [
        p
        for p in middle
        if held.get(p.id, ("", "support"))[1] == "support" and above.get(p.id, table) == table
    ]
    found |= set(_neighbours(row))
    for i, a in enumerate(row):
        for b in row[i + 1 :]:
            if a.id in held and held.get(a.id) == held.get(b.id) and apart(a, b) >= -BESIDE_OVERLAP:
                found |= {(a.id, "contact", b.id)} if apart(a, b) <= TOUCHING else set()
                found |= {(a.id, "near", b.id)} if TOUCHING < apart(a, b) <= NEAR else set()
            if (
                held.get(a.id) == held.get(b.id)
                and _covered(a, b) > FRONT_OVERLAP
                and abs(a.near - b.near) > DEPTH_STEP
            ):
                found.add((a.id, "in front of", b.id) if a.near > b.near else (b.id, "in front of", a.id))
    return found


def apart(a: Place, b: Place) -> float:
    """The horizontal gap between two boxes; negative where they overlap."""
    return max(a.box[0], b.box[0]) - min(a.box[2], b.box[2])


def _ordered(a: Place, b: Place) -> Triple:
    return (a.id, "left of", b.id) if a.x < b.x else (b.id, "left of", a.id)


def _above(air: Sequence[Place], standing: Sequence[Place], table: str | None) -> Iterator[tuple[str, str]]:
    """What hangs in the air is above the thing on the table under its middle, else above the table itself."""
    for a in air:
        under = [b for b in standing if b.box[0] <= a.x <= b.box[2] and b.box[3] > a.box[3]]
        if under:
            yield a.id, min(under, key=lambda b: abs(b.x - a.x)).id
        elif table is not None:
            yield a.id, table


def _neighbours(row: Sequence[Place]) -> Iterator[Triple]:
    """Left of, for things side by side with no third between them."""
    for a in row:
        right = [b for b in row if b.id != a.id and a.x < b.x and apart(a, b) >= -BESIDE_OVERLAP]
        for b in right:
            between = (c for c in right if c.id != b.id and c.x < b.x and apart(c, b) >= -BESIDE_OVERLAP)
            if next(between, None) is None:
                yield a.id, "left of", b.id


def _covered(a: Place, b: Place) -> float:
    """The common area of two boxes as a share of the smaller."""
    wide = min(a.box[2], b.box[2]) - max(a.box[0], b.box[0])
    high = min(a.box[3], b.box[3]) - max(a.box[1], b.box[1])
    if wide <= 0 or high <= 0:
        return 0.0
    return wide * high / min((p.box[2] - p.box[0]) * (p.box[3] - p.box[1]) for p in (a, b))


def level_words(share: float) -> str:
    """How full a vessel is: `share` is the water's height over the vessel's."""
    return "half full" if share < 0.53 else "well filled"


def weight_words(width: float) -> str:
    return "large" if width > LARGE_WIDTH else "small"


def tilt_words(slope: float) -> str:
    """Of a beam; `slope` is how far it falls per unit to the right."""
    if abs(slope) < 0.06:
        return "level"
    return "tipped to the right" if slope > 0 else "tipped to the left"


def block_words(width: float, height: float) -> str:
    return "tall" if height > 1.3 * width else "low"
