"""Relations between the objects of a photograph, from masks alone: what stands on, in or beside what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy import ndimage

from physplan.graph import Edge, Node, StateGraph
from physplan_photo.graph.layout import Extent, Mask, extent_of, foot_of

TOUCHING_GAP = 0.015  # heights of the frame between things that touch
NEAR_DISTANCE = 0.12
INSIDE_SHARE = 0.6  # share of an object within another's outline
STANDING_SHARE = 0.35  # share of an object's foot with the other right below it
MAX_BESIDE_OVERLAP = 0.3  # share of the smaller side by which two overlap and are still beside each other


@dataclass(frozen=True, slots=True)
class Seen:
    """One found object: `name` is the user's word for it."""

    name: str
    mask: Mask


def photo_graph(found: Sequence[Seen], implied: Sequence[str] = ()) -> tuple[StateGraph, dict[str, Mask]]:
    """G_0 and the masks by identifier. `implied` are grounds that the sentence names and nothing outlines."""
    masks: dict[str, Mask] = {}
    nodes: list[Node] = []
    for number, one in enumerate(sorted(found, key=lambda one: extent_of(one.mask).left), start=1):
        node = Node(f"{identifier(one.name)}#{number}", one.name)
        nodes.append(node)
        masks[node.id] = one.mask
    for name in implied:
        nodes.append(Node(f"{identifier(name)}#{len(nodes) + 1}", name))
    return StateGraph(nodes, relations(masks)), masks


def identifier(name: str) -> str:
    return name.replace(" ", "_")


def relations(masks: Mapping[str, Mask]) -> tuple[Edge, ...]:
    """Every relation that the outlines show; support and containment stay without circles."""
    boxes = {id: extent_of(mask) for id, mask in masks.items()}
    touched = {id: _grown(mask) for id, mask in masks.items()}
    edges: list[Edge] = []
    held: set[tuple[str, str]] = set()
    for a, b in permutations(masks, 2):
        if (b, a) in held:
            continue
        relation = _holding(masks[a], masks[b], boxes[a], boxes[b])
        if relation is not None:
            edges.append(Edge(a, relation, b))
            held.add((a, b))
    for a, b in permutations(masks, 2):
        joined = (a, b) in held or (b, a) in held
        if a < b and not joined:
            if (touched[a] & masks[b]).any():
                edges.append(Edge(a, "contact", b))
            elif _gap(boxes[a], boxes[b]) < NEAR_DISTANCE:
                edges.append(Edge(a, "near", b))
        edges += _layout(a, b, boxes[a], boxes[b], joined)
    return tuple(edges)


def _holding(a: Mask, b: Mask, box_a: Extent, box_b: Extent) -> str | None:
    """Whether a contains b, or b stands on a."""
    inside = float((a & b).sum() / b.sum())
    larger = a.sum() > 1.2 * b.sum()
    foot = foot_of(b)
    below = np.roll(foot, max(1, round(TOUCHING_GAP * len(b))), axis=0)
    below[: max(1, round(TOUCHING_GAP * len(b)))] = False
    stands = float((below & a & ~b).sum() / max((below & ~b).sum(), 1))
    if larger and box_a.bottom > box_b.bottom + TOUCHING_GAP:
        stands = max(stands, _surrounded(a, b, box_b))
    if larger and inside > INSIDE_SHARE:
        flat = box_a.width > max(2.5 * box_b.width, 1.5 * box_a.height) and box_b.bottom < box_a.bottom
        return "support" if flat else "containment"
    lower = box_a.centre[1] > box_b.centre[1] or a.sum() > 3 * b.sum()
    if stands > STANDING_SHARE and lower:
        return "support"
    return None


def _surrounded(a: Mask, b: Mask, box_b: Extent) -> float:
    """Share of the rim of b's lower half that lies on a, as a cup's on its saucer from above."""
    rim = _grown(b) & ~b
    rim[: round(box_b.centre[1] * len(b))] = False
    return float((rim & a).sum() / max(rim.sum(), 1))


def _layout(a: str, b: str, box_a: Extent, box_b: Extent, joined: bool) -> list[Edge]:
    """Left of and above for things apart, in front of for what stands nearer and overlaps in x."""
    found = []
    across = min(box_a.right, box_b.right) - max(box_a.left, box_b.left)
    down = min(box_a.bottom, box_b.bottom) - max(box_a.top, box_b.top)
    if box_a.centre[0] < box_b.centre[0] and across < MAX_BESIDE_OVERLAP * min(box_a.width, box_b.width):
        found.append(Edge(a, "left of", b))
    if (
        box_a.centre[1] < box_b.centre[1]
        and down < MAX_BESIDE_OVERLAP * min(box_a.height, box_b.height)
        and across > 0
    ):
        found.append(Edge(a, "above", b))
    if not joined and across > 0 and down > 0 and box_a.bottom > box_b.bottom + 0.02:
        found.append(Edge(a, "in front of", b))
    return found


def _grown(mask: Mask) -> Mask:
    reach = max(1, round(TOUCHING_GAP * len(mask)))
    return np.asarray(ndimage.maximum_filter(mask, 2 * reach + 1), dtype=bool)


def _gap(a: Extent, b: Extent) -> float:
    across = max(a.left - b.right, b.left - a.right, 0.0)
    down = max(a.top - b.bottom, b.top - a.bottom, 0.0)
    return float(np.hypot(across, down))
