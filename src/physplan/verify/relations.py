"""Whether a picture shows an edit, by what is seen in it alone: presence, size, look, relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from physplan.graph import Consume, GraphEdit, Link, Spawn, Unlink, Update
from physplan.graph.moving import SMALLER
from physplan.perception import KeyframeEvidence
from physplan.sketch.pixels import box, grow

TOUCHING_GAP = 0.025  # of the height: a gap that is none
NEAR_DISTANCE = 0.2
LOOKS_CHANGED = 0.1  # of brightness: a look that has changed for good
SIZE_CHANGED = 0.35  # in logarithms: half as large again
Picture = KeyframeEvidence


def shown(edit: GraphEdit, first: Picture, now: Picture) -> float | None:
    """From 0, it is not so, to 1, it is; None where an object that it needs is not seen."""
    if isinstance(edit, Spawn):
        return 1.0 if edit.id in now.masks else 0.0
    if isinstance(edit, Consume):
        return _gone(edit.o, first, now)
    if isinstance(edit, Update):
        if edit.o not in now.masks or edit.o not in first.masks:
            return None
        return _resized(edit, first, now) if edit.key == "extent" else _looks_changed(edit.o, first, now)
    assert isinstance(edit, Link | Unlink)
    if edit.a not in now.masks or edit.b not in now.masks:
        return None
    degree = RELATED[edit.r](edit.a, edit.b, now) if edit.r in RELATED else None
    return degree if degree is None or isinstance(edit, Link) else 1 - degree


def _gone(id: str, first: Picture, now: Picture) -> float | None:
    """None for what was not seen in the first frame: it cannot be seen to go."""
    if id not in first.masks:
        return None
    return 1.0 if id not in now.masks else max(0.0, 1 - float(now.masks[id].sum() / first.masks[id].sum()))


def _resized(edit: Update, first: Picture, now: Picture) -> float:
    ratio = float((now.masks[edit.o].sum() / first.masks[edit.o].sum()).log())
    wanted = -ratio if any(word in edit.value for word in SMALLER) else abs(ratio)
    return min(max(wanted / SIZE_CHANGED, 0.0), 1.0)


def _looks_changed(id: str, first: Picture, now: Picture) -> float:
    both = first.masks[id] & now.masks[id]
    if both.sum() < 0.3 * first.masks[id].sum():
        return 1.0  # it is elsewhere or of another shape: no longer as it was
    colours = (now.image - first.image)[:, both].mean(1).abs().amax()
    texture = (now.image - first.image)[:, both].abs().mean()
    return min(float(torch.maximum(colours, texture)) / LOOKS_CHANGED, 1.0)


def _gap(a: Tensor, b: Tensor) -> float:
    """Distance of two masks, in heights of the picture; found by growing one until it meets the other."""
    height = a.shape[0]
    for share in (0.0, TOUCHING_GAP, 0.05, 0.1, NEAR_DISTANCE, 0.4):
        if (grow(a, round(share * height)) & b).any():
            return share
    return 1.0


def _touching(a: str, b: str, now: Picture) -> float:
    gap = _gap(now.masks[a], now.masks[b])
    return 1.0 if gap <= TOUCHING_GAP else 0.5 if gap <= 0.05 else 0.0


def _supports(a: str, b: str, now: Picture) -> float:
    """b touches a and its foot is not below a's."""
    above = box(now.masks[b])[3] <= box(now.masks[a])[3] + TOUCHING_GAP * now.depth.shape[0]
    return _touching(a, b, now) * (1.0 if above else 0.3)


def _contains(a: str, b: str, now: Picture) -> float:
    """The share of b's box that lies in a's."""
    al, at, ar, ab = box(now.masks[a])
    bl, bt, br, bb = box(now.masks[b])
    wide, high = max(0.0, min(ar, br) - max(al, bl)), max(0.0, min(ab, bb) - max(at, bt))
    inside = wide * high / max((br - bl) * (bb - bt), 1.0)
    return min(1.0, 2 * inside)


def _above(a: str, b: str, now: Picture) -> float:
    """Higher, over it, and not touching: what rests on something is held up by it."""
    (al, _, ar, ab), (bl, bt, br, _) = box(now.masks[a]), box(now.masks[b])
    over = min(ar, br) > max(al, bl)
    return 1.0 if over and ab < bt - TOUCHING_GAP * now.depth.shape[0] else 0.0


def _in_front(a: str, b: str, now: Picture) -> float:
    nearer = now.depth[now.masks[a]].median() - now.depth[now.masks[b]].median()
    meets = _gap(now.masks[a], now.masks[b]) <= TOUCHING_GAP
    return (1.0 if float(nearer) >= 0 else 0.3) if meets else 0.0


RELATED: Mapping[str, Callable[[str, str, Picture], float]] = {
    "support": _supports,
    "contact": _touching,
    "containment": _contains,
    "attachment": _touching,
    "left of": lambda a, b, now: float(sum(box(now.masks[a])[::2]) < sum(box(now.masks[b])[::2])),
    "above": _above,
    "in front of": _in_front,
    "near": lambda a, b, now: float(_gap(now.masks[a], now.masks[b]) <= NEAR_DISTANCE),
}
