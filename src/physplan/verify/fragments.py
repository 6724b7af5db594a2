"""Things that came out of hiding: does the last frame show them whole, or the part that was seen at first?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scipy import ndimage
from torch import Tensor

from physplan.graph import EventChain
from physplan.perception import Evidence, keyframe_evidence, look
from physplan.sketch.scene import changes
from physplan.sketch.whole import wholes
from physplan.verify.perceiving import PerceptionSource
from physplan.verify.verdict import EventFound

FRAGMENT_AREA = 0.7  # of the whole's area: less is a fragment
MIN_PIECE_AREA = 0.1  # of it: a smaller component is a speck
HIDDEN_BY = ("in front of", "containment")


def marked(
    chain: EventChain,
    evidence: Evidence,
    last: Tensor,
    events: Sequence[EventFound],
    perception: PerceptionSource,
) -> tuple[EventFound, ...]:
    """The events, where the last one's edits of an object fail if frame `last` [3, H, W] shows a fragment."""
    broken = fragments(chain, evidence, last, perception)
    if not broken:
        return tuple(events)
    edits = tuple(
        replace(edit, verdict="fails") if broken & set(edit.objects) else edit for edit in events[-1].edits
    )
    return (*events[:-1], replace(events[-1], edits=edits))


def fragments(chain: EventChain, evidence: Evidence, last: Tensor, perception: PerceptionSource) -> set[str]:
    """Objects that stood half hidden, that nothing hides in the last state, and that are there in part or in
    pieces. Nothing is segmented where no object was half hidden."""
    known = wholes(chain, evidence.first, evidence.keyframes, changes(chain))
    graph = chain.graphs[-1]
    hidden = {edge.b for edge in graph.edges if edge.r in HIDDEN_BY}
    wanted = {id: whole for id, (_, whole) in known.items() if id in graph and id not in hidden}
    if not wanted:
        return set()
    seen = look(graph, last, segmenter=perception.segmenter, depth=perception.depth)
    masks = keyframe_evidence(graph, seen, known=evidence.keyframes[-1].masks).masks
    return {id for id, whole in wanted.items() if id in masks and not is_whole(masks[id], whole)}


def is_whole(mask: Tensor, whole: Tensor) -> bool:
    """By the area, and by the number of pieces."""
    area = float(whole.sum())
    parts, number = ndimage.label(mask.cpu().numpy(), structure=[[1] * 3] * 3)
    pieces = sum(int((parts == part).sum() >= MIN_PIECE_AREA * area) for part in range(1, number + 1))
    return float(mask.sum()) >= FRAGMENT_AREA * area and pieces == 1
