"""A thing that something hides in part is drawn whole once it moves: from its kind, or from a keyframe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

from physplan.graph import EventChain
from physplan.perception import KeyframeEvidence
from physplan.sketch.cuts import rigid_shift
from physplan.sketch.pixels import grow

PART_AREA = 0.85  # of the whole's area: an outline below this is a part of it
MIN_FIT = 0.85  # of the part that the whole covers, and of the whole's rest that something can hide
MAX_COLOUR_DISTANCE = 0.16  # mean difference of the colours of the part and of the whole there
MAX_AREA = 0.3  # of the picture: what is larger is ground, and hides nothing


@dataclass(frozen=True, kw_only=True, eq=False)
class Layers:
    """What a source makes of the first frame; what it does not give is made without it."""

    plate: Tensor | None = None  # [3, H, W]: the frame without the objects asked for
    objects: Mapping[str, Tensor] = field(default_factory=dict)  # [4, H, W]: whole, where they stand


# From the first frame [3, H, W], and words and mask [H, W] of each object that acts.
LayerSource = Callable[[Tensor, Mapping[str, str], Mapping[str, Tensor]], Layers]
Whole = tuple[Tensor, Tensor]  # colours [3, H, W] and outline [H, W] of a thing where it stands


def no_layers() -> LayerSource:
    return lambda image, words, masks: Layers()


def wholes(
    chain: EventChain,
    first: KeyframeEvidence,
    keyframes: Sequence[KeyframeEvidence],
    actors: Mapping[str, object],
    layers: Mapping[str, Tensor] | None = None,
) -> dict[str, Whole]:
    """The whole look of each actor that stands half hidden in the first frame, where it stands there."""
    found = {}
    for id in actors:
        hiding = _others(first, id)
        if id not in first.masks or not (grow(first.masks[id], 2) & hiding).any():
            continue
        own = [layers[id]] if layers and id in layers else []
        seen = [(frame.image, mask) for frame, mask in _sources(chain, id, first, keyframes)]
        for image, mask in [*((layer[:3], layer[3] > 0.5) for layer in own), *seen]:
            whole = completed(first, first.masks[id], image, mask, hiding)
            if whole is not None:
                found[id] = whole
                break
    return found


def completed(
    first: KeyframeEvidence, part: Tensor, image: Tensor, whole: Tensor, hiding: Tensor
) -> Whole | None:
    """The part's own pixels and, where `hiding` covers the rest of it, those of the whole in `image`."""
    if part.sum() > PART_AREA * whole.sum():
        return None
    dx, dy = rigid_shift(whole, part, hiding)
    outline = shifted(whole[None], dx, dy)[0]
    rest = outline & ~part
    if (outline & part).sum() < MIN_FIT * part.sum() or (rest & hiding).sum() < MIN_FIT * rest.sum():
        return None
    there = shifted(image, dx, dy)
    own = outline & part & ~grow(hiding, 1)  # pixels at an edge are half of what hides it
    if float((there - first.image)[:, outline & part].abs().mean()) > MAX_COLOUR_DISTANCE:
        return None
    return torch.where(own, first.image, there), outline


def shifted(values: Tensor, dx: int, dy: int) -> Tensor:
    """[C, H, W] moved right and down; what comes in is 0."""
    height, width = values.shape[-2:]
    framed = F.pad(values, (max(dx, 0), max(-dx, 0), max(dy, 0), max(-dy, 0)))
    top, left = max(-dy, 0), max(-dx, 0)
    return framed[..., top : top + height, left : left + width]


def _sources(
    chain: EventChain, id: str, first: KeyframeEvidence, keyframes: Sequence[KeyframeEvidence]
) -> Iterator[tuple[KeyframeEvidence, Tensor]]:
    """Its own kind in the first frame, which no editor has drawn, then itself in the keyframes."""
    for other, mask in first.masks.items():
        if other != id and chain.node(other).category == chain.node(id).category:
            yield first, mask
    for frame in keyframes:
        if id in frame.masks:
            yield frame, frame.masks[id]


def _others(frame: KeyframeEvidence, id: str) -> Tensor:
    found = torch.zeros_like(frame.depth, dtype=torch.bool)
    for other, mask in frame.masks.items():
        if other != id and float(mask.float().mean()) < MAX_AREA:
            found |= mask
    return found
