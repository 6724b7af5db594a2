"""From pixels to the state graph: what segmenter and depth estimator see, and what follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, binary_erosion
from torch import Tensor

from physplan.graph import Edge, Node, StateGraph
from physplan.perception import DepthEstimator, Instance, Segmenter
from physplan.sketch.pixels import without_specks
from physplan_sandbox.arrangement import (
    DISHES,
    Place,
    Triple,
    block_words,
    level_words,
    spatial_relations,
    tilt_words,
    weight_words,
)
from physplan_sandbox.rules import TABLE, load_rules
from physplan_sandbox.world.categories import CATEGORIES
from physplan_sandbox.world.sprites import PALETTE

Mask = NDArray[np.bool_]
Picture = NDArray[np.float32]  # [H, W, 3] in [0, 1]

MIN_AREA = 0.0018  # of the picture: less is noise of the segmenter
FRAGMENT_AREA = 0.2  # of the largest of its category: less is a piece of something else
# A piece with a lower score that shares so much of its rim with a neighbour is part of that.
UNSURE, BORDER = 0.72, 0.2
STRAY_SHARE = 0.04  # of a mask
EDGE_DISTANCE = 0.035  # of the picture's height
MAX_PART_DISTANCE = 0.08  # how far a part may be from its whole
SAME_DEPTH = 0.15  # farther apart in depth, one does not hold the other
ROUND = ("ball",)  # as wide as they are high, even where a part is hidden
PARTLY_HIDDEN = 0.15  # of its height: a ball that is narrower by so much is not seen whole
HANDLED = ("jug",)  # their handle is not part of the room inside
BODY_HEIGHT = 0.6  # of its height: a handle's columns are lower
BEAMS = ("seesaw", "balance")
BARE = (0.15, 0.40)  # of a beam's length, between which its upper edge can be seen
LOWER_PART = {"plant": 0.3}  # where the colour is read: of a plant, from its pot
SEE_THROUGH = {"pane": 0.6}  # opacity: the rest is the background's colour


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A thing in the picture: its place, and its mask [H, W]."""

    place: Place
    mask: Mask


def parse_picture(image: Tensor, *, segmenter: Segmenter, depth: DepthEstimator) -> StateGraph:
    """G_0 of a picture [3, H, W] in [0, 1]."""
    seen = look(image, segmenter=segmenter, depth=depth)
    return describe(seen, image.permute(1, 2, 0).float().cpu().numpy())


@torch.no_grad()
def look(image: Tensor, *, segmenter: Segmenter, depth: DepthEstimator) -> tuple[Seen, ...]:
    """Everything but the wall: numbered by category, then from left to right."""
    kept = list(_cleaned(segmenter.segment(image, CATEGORIES[1:])))
    nearness = _nearness(depth(image[None])[0].float().cpu().numpy(), [mask for _, mask in kept])
    kept.sort(key=lambda item: (CATEGORIES.index(item[0]), np.nonzero(item[1])[1].mean()))
    return tuple(
        Seen(place=_place(f"{category}#{number}", category, mask, nearness), mask=mask)
        for number, (category, mask) in enumerate(kept, start=1)
    )


def _cleaned(instances: Sequence[Instance]) -> Iterator[tuple[str, Mask]]:
    """Categories and masks of whole things: one table, no specks, unsure pieces joined to what they touch."""
    pieces = [(i.category, i.mask.cpu().numpy().astype(bool), i.score) for i in instances]
    tables = [mask for category, mask, _ in pieces if category == TABLE]
    if tables:
        yield TABLE, main_parts(np.any(tables, axis=0))
    things = sorted((p for p in pieces if p[0] != TABLE and p[1].any()), key=lambda p: -p[2] * p[1].sum())
    whole: list[tuple[str, Mask]] = []
    for category, mask, score in things:
        rim = binary_dilation(mask) & ~mask
        touched = [int((rim & other).sum()) for _, other in whole]
        if score < UNSURE and touched and max(touched) >= BORDER * rim.sum():
            index = touched.index(max(touched))
            whole[index] = whole[index][0], whole[index][1] | mask
        elif mask.sum() >= max(MIN_AREA * mask.size, 1):
            whole.append((category, mask))
    for category, mask in whole:
        if mask.sum() >= FRAGMENT_AREA * max(other.sum() for name, other in whole if name == category):
            yield category, main_parts(mask)


def main_parts(mask: Mask) -> Mask:
    """Without stray pixels, which would stretch a box."""
    kept: Mask = without_specks(torch.from_numpy(mask), STRAY_SHARE).numpy()
    return kept


def _nearness(depth: Picture, things: Sequence[Mask]) -> Picture:
    """Depth from 0, the wall, to 1, the nearest; robust, since single pixels of an estimate may be off."""
    wall = ~np.any(things, axis=0) if things else np.ones(depth.shape, dtype=bool)
    far = float(np.median(depth[wall])) if wall.any() else float(np.quantile(depth, 0.02))
    return (depth - far) / max(float(np.quantile(depth, 0.995)) - far, 1e-6)


def describe(seen: Sequence[Seen], picture: Picture) -> StateGraph:
    """The graph of what was seen: attributes from pixels, relations from places."""
    physical = tuple(physical_relations(seen))
    places = [thing.place for thing in seen]
    table = next((place.id for place in places if place.category == TABLE), None)
    edges = (*physical, *spatial_relations(places, physical, table))
    nodes = [Node(thing.place.id, thing.place.category, _attributes(thing, seen, picture)) for thing in seen]
    return StateGraph(nodes, [Edge(*edge) for edge in edges])


def physical_relations(seen: Sequence[Seen]) -> Iterator[Triple]:
    """Each thing is part of, inside of or on top of at most one other."""
    rules = load_rules()
    labels = _labels(seen)
    for thing in seen:
        category, id = thing.place.category, thing.place.id
        if category == TABLE:
            continue
        wholes = [s for s in seen if s.place.category == rules.attached.get(category)]
        vessels = [s for s in seen if s.place.category in rules.containers.get(category, ())]
        if (whole := _nearest(thing, wholes)) is not None:
            yield whole.place.id, "attachment", id
        elif (vessel := next((v for v in vessels if _inside(thing, v)), None)) is not None:
            yield vessel.place.id, "containment", id
        elif (under := _support(thing, seen, labels)) is not None:
            yield under, "support", id


def _place(id: str, category: str, mask: Mask, nearness: Picture) -> Place:
    height, width = mask.shape
    left, top, right, bottom = whole(mask, category)
    return Place(
        id=id,
        category=category,
        box=(left / width, top / height, right / width, bottom / height),
        near=float(np.median(nearness[mask])),
    )


def whole(mask: Mask, category: str) -> tuple[float, float, float, float]:
    """The box (left, top, right, bottom) of a thing in pixels: of a jug without its handle, of a ball with
    the side that something nearer hides."""
    rows, columns = np.nonzero(mask)
    if category in HANDLED:
        heights = np.bincount(columns, minlength=mask.shape[1])
        columns = np.flatnonzero(heights >= BODY_HEIGHT * heights.max())
    left, right = float(columns.min()), float(columns.max() + 1)
    top, bottom = float(rows.min()), float(rows.max() + 1)
    hidden = (bottom - top) - (right - left)
    if category in ROUND and hidden > PARTLY_HIDDEN * (bottom - top):
        # A ball is highest and lowest at its middle, and that is nearer to the side where it is cut off.
        outer = max(0.15 * (bottom - top), 1.0)
        ends = (rows < top + outer) | (rows + 1 > bottom - outer)
        cut_left = columns[ends].mean() + 0.5 < 0.5 * (left + right)
        left, right = (left - hidden, right) if cut_left else (left, right + hidden)
    return left, top, right, bottom


def _labels(seen: Sequence[Seen]) -> NDArray[np.int64]:
    """Which thing each pixel shows, as an index into `seen`; -1 for the wall."""
    labels = np.full(seen[0].mask.shape if seen else (0, 0), -1)
    for index in sorted(
        range(len(seen)), key=lambda i: (seen[i].place.category != TABLE, seen[i].place.near)
    ):
        labels[seen[index].mask] = index
    return labels


def _support(thing: Seen, seen: Sequence[Seen], labels: NDArray[np.int64]) -> str | None:
    """What is just below the lowest edge: the table, a thing at the same depth, or nothing (in the air)."""
    rows, columns = np.nonzero(thing.mask)
    step = max(1, round(0.03 * labels.shape[0]))
    reach = rows.max() - max(step, 0.12 * (rows.max() - rows.min()))
    bottoms = {column: rows[columns == column].max() for column in np.unique(columns)}
    votes: Counter[str | None] = Counter()
    for column, bottom in bottoms.items():
        if bottom < reach:
            continue
        under = labels[bottom + 1 : bottom + 1 + step, column]
        votes.update(_vote(thing, [seen[i].place if i >= 0 else None for i in under]))
    table = next((s.place for s in seen if s.place.category == TABLE), None)
    below_edge = thing.place.box[3] - table.box[1] if table is not None else -1.0
    if votes:
        found = votes.most_common(1)[0][0]
        # At the table's far edge nothing stands: an outline that ends there hangs before the wall.
        return None if table is not None and found == table.id and below_edge < EDGE_DISTANCE else found
    # Its foot is hidden by something nearer: it stands on the table, unless that begins below it.
    return table.id if table is not None and below_edge >= 0 else None


def _vote(thing: Seen, below: Sequence[Place | None]) -> Iterator[str | None]:
    """What holds a thing by the few pixels under one point of its lowest edge, from top to bottom.

    Slivers of wall or table between two outlines do not count; parts of something hold nothing.
    """
    parts = load_rules().attached.keys() - set(DISHES)
    others = [p for p in below if p is None or (p.id != thing.place.id and p.category not in parts)]
    for other in (p for p in others if p is not None and p.category != TABLE):
        nearer = other.near - thing.place.near
        if abs(nearer) <= SAME_DEPTH:
            yield other.id
        if nearer > -SAME_DEPTH:
            return  # held by it, or hidden by it
    if others:
        yield next((p.id for p in others if p is not None and p.category == TABLE), None)


def _nearest(part: Seen, wholes: Sequence[Seen]) -> Seen | None:
    """The whole that a part touches, if any."""

    def gap(whole: Seen) -> float:
        a, b = part.place.box, whole.place.box
        across = max(a[0] - b[2], b[0] - a[2], 0.0)
        down = max(a[1] - b[3], b[1] - a[3], 0.0)
        return float(np.hypot(across, down))

    near = [whole for whole in wholes if gap(whole) <= MAX_PART_DISTANCE]
    return min(near, key=gap) if near else None


def _inside(content: Seen, vessel: Seen) -> bool:
    """Whether the middle of the content is within the vessel's box, and its foot not below it."""
    left, top, right, bottom = vessel.place.box
    a = content.place.box
    return left <= content.place.x <= right and top <= 0.5 * (a[1] + a[3]) and a[3] <= bottom + 0.02


def _attributes(thing: Seen, seen: Sequence[Seen], picture: Picture) -> Mapping[str, str]:
    category = thing.place.category
    if category == TABLE:
        return {}
    known = load_rules().kinds.get(category, {})
    found = dict(known) if "color" in known else {"color": _color(thing, picture), **known}
    left, top, right, bottom = thing.place.box
    if category == "block":
        found["extent"] = block_words(right - left, bottom - top)
    elif category == "lamp":
        found["configuration"] = f"facing {_facing(thing.mask)}"
    elif category == "weight":
        found["extent"] = weight_words(right - left)
    elif category in BEAMS:
        found["configuration"] = tilt_words(beam_slope(thing.mask))
    elif category == "water":
        vessels = [s for s in seen if s.place.category == "glass" and _inside(thing, s)]
        if vessels:
            found["extent"] = level_words(thing.place.height / vessels[0].place.height)
    elif category == "pane":
        others = [s.place.near for s in seen if s.place.in_middle and s.place.category not in (TABLE, "pane")]
        if others:
            track = "near" if thing.place.near > float(np.mean(others)) else "far"
            found["configuration"] = f"on the {track} track"
    return found


def _facing(mask: Mask) -> str:
    """A lamp faces the side to which its head is off its foot."""
    rows, columns = np.nonzero(mask)
    top, bottom = rows.min(), rows.max()
    head = columns[rows <= top + 0.25 * (bottom - top)].mean()
    foot = columns[rows >= bottom - 0.12 * (bottom - top)]
    return "left" if head < 0.5 * (foot.min() + foot.max()) else "right"


def beam_slope(mask: Mask) -> float:
    """How far the bare left half of a beam falls per column: things on its right half may hide that."""
    shown = np.flatnonzero(mask.any(axis=0))  # columns; a thing in front of the beam may hide some
    tops, span = mask.argmax(axis=0)[shown], shown[-1] - shown[0]
    near, far = (
        np.argsort(np.abs(shown - shown[0] - round(share * span)), kind="stable")[:3] for share in BARE
    )
    return float((np.median(tops[far]) - np.median(tops[near])) / ((BARE[1] - BARE[0]) * max(span, 1)))


def _color(thing: Seen, picture: Picture) -> str:
    mask = thing.mask
    if share := LOWER_PART.get(thing.place.category):
        rows = np.nonzero(mask)[0]
        mask = mask & (np.arange(mask.shape[0]) >= rows.max() - share * (rows.max() - rows.min()))[:, None]
    inner = binary_erosion(mask, iterations=max(1, round(mask.shape[0] / 96)))
    color = np.median(picture[inner if inner.sum() > 8 else mask], axis=0)
    if opacity := SEE_THROUGH.get(thing.place.category):
        left, _, right, _ = (round(edge * mask.shape[1]) for edge in thing.place.box)
        rows = np.nonzero(mask)[0]
        beside = np.r_[max(left - 6, 0) : left, right : min(right + 6, mask.shape[1])]
        behind = np.median(picture[rows.min() : rows.max(), beside].reshape(-1, 3), axis=0)
        color = np.clip((color - (1 - opacity) * behind) / opacity, 0, 1)
    return color_name(color)


def color_name(color: NDArray[np.floating]) -> str:
    """The palette's nearest colour, whatever the light's strength."""

    def difference(name: str) -> float:
        wanted = np.asarray(PALETTE[name])
        gain = float(np.clip(color @ wanted / (wanted @ wanted), 0.82, 1.12))
        return float(np.linalg.norm(color - gain * wanted))

    return min(PALETTE, key=difference)
