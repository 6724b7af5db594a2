"""Whether what changes is drawn or smeared: against the keyframe, and against the ground around."""

from __future__ import annotations

import torch
from torch import Tensor

from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.sketch.pixels import grow
from physplan.sketch.scene import changes, union
from physplan.verify.agreement import VISIBLE_CHANGE, soften
from physplan.verify.limits import Limits

LEAST_PIXELS = 20  # of a region that has edges
MIN_STILL_SHARPNESS = 0.25  # of the still part: a video that is softer as a whole is not judged by that
LEAST_BARE = 0.03  # of the picture, of what something left
LEAST_AROUND = 0.05  # edges of the ground around it: an even one may be filled evenly


def is_smeared(chain: EventChain, evidence: Evidence, frames: Tensor, limits: Limits) -> bool:
    """Whether what changed is where it should be, without its edges, or left a blur where it was."""
    found = (detail_left(chain, evidence, frames, late=limits.late), ground_left(chain, evidence, frames[-1]))
    return any(detail is not None and detail < limits.smeared for detail in found)


def ground_left(chain: EventChain, evidence: Evidence, frame: Tensor) -> float | None:
    """Edges of frame [3, H, W] where something went away, as a share of those around; None on even ground."""
    first, last, acting = evidence.first, evidence.keyframes[-1], dict.fromkeys(changes(chain))
    before, after, shown = union(first, acting), grow(union(last, acting), 3), _edges(frame)
    changed = (soften(frame) - soften(first.image)).abs().amax(0) > VISIBLE_CHANGE
    bare = grow(before & ~after & changed, -2)
    around = grow(bare, 5 + len(bare) // 80) & ~grow(before, 3) & ~after
    if float(bare.float().mean()) < LEAST_BARE:
        return None
    wanted = _strength(shown, around[:-1, :-1])
    return _strength(shown, bare[:-1, :-1]) / wanted if wanted > LEAST_AROUND else None


def detail_left(chain: EventChain, evidence: Evidence, frames: Tensor, *, late: int) -> float | None:
    """The edges of the last frames [F, 3, H, W] where the last keyframe shows what acts and has changed, as a
    share of the keyframe's; over the same share where nothing changed. 1: as sharp as the rest.

    None where the keyframe changes too little to tell. A video of another size is softer everywhere: the
    still part takes that out.
    """
    first, last = evidence.first, evidence.keyframes[-1]
    changed = (soften(last.image) - soften(first.image)).abs().amax(0) > VISIBLE_CHANGE
    acts = changed & grow(union(last, dict.fromkeys(changes(chain))), 1)
    still = ~grow(changed, 2)
    key, before, shown = _edges(last.image), _edges(first.image), [_edges(frame) for frame in frames[-late:]]
    acts, still = acts[:-1, :-1], still[:-1, :-1]
    wanted = _strength(key, acts)
    if int(acts.sum()) < LEAST_PIXELS or wanted < VISIBLE_CHANGE / 2:
        return None
    there = max(_strength(one, acts) for one in shown) / wanted
    flat = _strength(before, still)
    rest = max(_strength(one, still) for one in shown) / flat if flat > VISIBLE_CHANGE / 10 else 1.0
    return there / min(1.0, max(rest, MIN_STILL_SHARPNESS))


def _edges(picture: Tensor) -> Tensor:
    """[H - 1, W - 1]: how far a pixel of a picture [3, H, W] is from its right and its lower neighbour."""
    across = (picture[:, :-1, 1:] - picture[:, :-1, :-1]).abs().amax(0)
    down = (picture[:, 1:, :-1] - picture[:, :-1, :-1]).abs().amax(0)
    return across + down


def _strength(edges: Tensor, where: Tensor) -> float:
    """Root mean square: edges count, not the noise between them."""
    return float(torch.sqrt((edges[where] ** 2).mean())) if where.any() else 0.0
