"""Where the moving objects are between the anchors, beside where they truly are. Pure functions of arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from physplan.graph import EventChain, motion_of
from physplan.graph.motion import LAWS
from physplan_sandbox.world.render import Clip

MIN_SEEN_PIXELS = 8  # pixels that an object must show in a true frame to have a place there
COVERED_SHARE, PASSING_SHIFT = 0.8, 0.02  # of what is seen of it at first; of the frame

Place = tuple[float, float]  # across and down, in fractions of the frame
Track = Sequence[Place | None]  # frame by frame


def movers(chain: EventChain) -> tuple[str, ...]:
    """The objects that a law of some event moves along a way."""
    found = {
        id: None
        for i, event in enumerate(chain.events)
        for id in dict.fromkeys(target for edit in event.edits for target in edit.targets())
        if LAWS[motion_of(id, chain.graphs[i], event.delta, event.edits, event.motion).law].moves
    }
    return tuple(found)


def between(anchors: Sequence[int]) -> list[int]:
    """The frames on the way: after the first, before the last anchor, and at none."""
    return [frame for frame in range(1, anchors[-1]) if frame not in anchors]


def place(mask: np.ndarray, least: int = 1) -> Place | None:
    """The centroid of a mask [H, W]."""
    rows, columns = np.nonzero(mask)
    if len(rows) < least:
        return None
    height, width = mask.shape
    return float((columns.mean() + 0.5) / width), float((rows.mean() + 0.5) / height)


def true_tracks(clip: Clip, keys: Collection[str]) -> dict[str, Track]:
    return {
        key: [place(shown == clip.names.index(key), MIN_SEEN_PIXELS) for shown in clip.objects]
        for key in keys
        if key in clip.names
    }


def centroid_errors(
    true: Mapping[str, Track], seen: Sequence[Sequence[Place]], frames: Collection[int]
) -> dict[str, float]:
    """Of all objects of one category, each one's mean distance to the truth, in fractions of the frame.

    `seen` are the places per frame at which the video shows such an object. They go to the objects that they
    suit best together; an object that gets none is where it was last seen.
    """
    last = {key: track[0] for key, track in true.items()}
    errors: dict[str, list[float]] = {}
    for frame in range(1, len(seen)):
        there = {key: spot for key, track in true.items() if (spot := track[frame]) is not None}
        last |= _assigned(there, seen[frame])
        for key, spot in there.items():
            if frame in frames and (found := last[key]) is not None:
                errors.setdefault(key, []).append(_apart(spot, found))
    return {key: float(np.mean(values)) for key, values in errors.items()}


def _assigned(there: Mapping[str, Place], seen: Sequence[Place]) -> dict[str, Place]:
    keys = list(there)
    if not keys or not seen:
        return {}
    apart = np.array([[_apart(there[key], spot) for spot in seen] for key in keys])
    return {keys[row]: seen[column] for row, column in zip(*linear_sum_assignment(apart), strict=True)}


def _apart(one: Place, two: Place) -> float:
    return float(np.hypot(one[0] - two[0], one[1] - two[1]))


def hides(clip: Clip, keys: Collection[str]) -> bool:
    """Whether a thing that moves comes before another, or goes behind one, while it moves."""
    return any(_passes(clip, clip.names.index(key)) for key in keys if key in clip.names)


def _passes(clip: Clip, index: int) -> bool:
    first = clip.objects[0]
    own = first == index
    start, others = place(own, MIN_SEEN_PIXELS), (first > 1) & ~own  # 0 and 1 are the wall and the table
    for shown, depth in zip(clip.objects[1:], clip.depth[1:], strict=True):
        mask = shown == index
        here = place(mask, MIN_SEEN_PIXELS)
        if start is None or here is None or _apart(start, here) < PASSING_SHIFT:
            continue
        if (mask & others).sum() >= MIN_SEEN_PIXELS:  # where another was, it is: in front
            return True
        rim = ndimage.binary_dilation(mask) & ~mask & (shown > 1)
        nearer = rim & (depth > np.median(depth[mask]))
        behind = mask.sum() < COVERED_SHARE * own.sum() and nearer.sum() >= MIN_SEEN_PIXELS / 2
        if behind:  # in part, what it touches
            return True
    return False
