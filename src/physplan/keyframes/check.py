"""Whether a keyframe shows its state: what belongs there is, what should be gone is, the rest is untouched.

The paper puts a quarter of its failures down to keyframes, and an editor can always be asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from physplan.graph import EventChain, Link
from physplan.keyframes.settings import CheckSettings
from physplan.perception import KeyframeEvidence, Segmenter, Sighting, keyframe_evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyframeCheck:
    """`problems` are phrases for the report and for an editor that reads."""

    drift: float  # the share of what no edit touches that has visibly changed
    problems: tuple[str, ...]

    @property
    def rank(self) -> tuple[int, float]:
        """Smaller is better: fewer problems, then less drift."""
        return len(self.problems), self.drift


def check_keyframe(
    chain: EventChain,
    event: int,
    sighting: Sighting,
    *,
    first: KeyframeEvidence,
    segmenter: Segmenter,
    settings: CheckSettings | None = None,
) -> KeyframeCheck:
    """Check the keyframe of chain.events[event], as it was looked at, against the first frame's evidence."""
    settings = settings or CheckSettings()
    image = sighting.image
    seen = keyframe_evidence(chain.events[event].graph, sighting, known=first.masks)
    problems = [
        *_absent(chain, event, first, seen),
        *_lingering(chain, event, first, image, segmenter, settings),
    ]
    outside = ~edited_region(chain, event, first, seen, margin=settings.margin)
    changed = visible_change(first.image, image, settings.visible)
    problems += _meddled(chain, event, first, changed & outside, settings)
    drift = float((changed & outside).sum() / outside.sum().clamp_min(1))
    if drift > settings.max_drift:
        problems.append(
            f"{drift:.1%} of what no edit touches has changed ({settings.max_drift:.1%} is allowed)"
        )
    return KeyframeCheck(drift=drift, problems=tuple(problems))


def visible_change(first: Tensor, image: Tensor, threshold: float) -> Tensor:
    """Where two images [3, H, W] differ to the eye, as a bool map [H, W].

    Both are blurred by a hundredth of their size, so that resampling, grain and compression do not count.
    """
    reach = max(1, round(max(first.shape) / 200))
    difference = F.avg_pool2d(
        (image - first)[None], 2 * reach + 1, stride=1, padding=reach, count_include_pad=False
    )[0]
    return difference.abs().amax(0) > threshold


def edited_region(
    chain: EventChain,
    event: int,
    first: KeyframeEvidence,
    seen: KeyframeEvidence,
    *,
    margin: float,
    nodes: Sequence[str] | None = None,
) -> Tensor:
    """Where the net edits may change the picture: their objects, or `nodes`, then and now, with a margin.

    An object without a mask may be anywhere in the place it comes from; one without any place, anywhere.
    """
    height, width = first.depth.shape
    region = torch.zeros(height, width, dtype=torch.bool)
    for node in _edited(chain, event) if nodes is None else nodes:
        places = [
            masks[name]
            for masks, name in ((first.masks, node), (seen.masks, node), (first.masks, chain.origin(node)))
            if name in masks
        ]
        region |= torch.stack(places).any(0) if places else torch.ones_like(region)
    reach = round(margin * max(height, width))
    # Rows, then columns: a square at once looks at every pixel of it, a second for a large picture.
    tall = F.max_pool2d(region[None].float(), (2 * reach + 1, 1), stride=1, padding=(reach, 0))
    return F.max_pool2d(tall, (1, 2 * reach + 1), stride=1, padding=(0, reach))[0] > 0


def _edited(chain: EventChain, event: int) -> list[str]:
    return list(dict.fromkeys(node for edit in chain.events[event].net_edits for node in edit.targets()))


def _absent(chain: EventChain, event: int, first: KeyframeEvidence, seen: KeyframeEvidence) -> list[str]:
    # What the segmenter cannot see in the first frame either is not the editor's fault, and what the plan
    # puts behind something may be hidden by it.
    hidden = {
        edit.b for edit in chain.events[event].net_edits if isinstance(edit, Link) and edit.r == "in front of"
    }
    return [
        f"the {chain.node(node).category} ({node}) was not found"
        for node in seen.missing
        if node not in first.missing and node not in hidden
    ]


def _lingering(
    chain: EventChain,
    event: int,
    first: KeyframeEvidence,
    image: Tensor,
    segmenter: Segmenter,
    settings: CheckSettings,
) -> list[str]:
    """Consumed objects that still cover their old place, with more of their kind than there should be."""
    state = chain.events[event].graph
    problems = []
    for node in chain.graph.nodes:
        if node.id in state or node.id not in first.masks:
            continue
        masks = [one.mask.cpu() for one in segmenter.segment(image, (node.category,))]
        living = sum(other.category.casefold() == node.category.casefold() for other in state.nodes)
        old = first.masks[node.id]
        if (
            len(masks) > living
            and (torch.stack(masks).any(0) & old).sum() / old.sum() >= settings.still_there
        ):
            problems.append(f"the {node.category} ({node.id}) is still there")
    return problems


def _meddled(
    chain: EventChain, event: int, first: KeyframeEvidence, changed: Tensor, settings: CheckSettings
) -> list[str]:
    """Objects that no edit touches and that look different all the same."""
    edited = _edited(chain, event)
    return [
        f"the {chain.node(node).category} ({node}), which no edit touches, has changed"
        for node, mask in first.masks.items()
        if node not in edited and (changed & mask).sum() / mask.sum() > settings.meddled
    ]
