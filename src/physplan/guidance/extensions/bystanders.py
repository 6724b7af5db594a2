"""Not in the paper: what the plan leaves alone is held to the first frame, which no editor has drawn."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.graph import RELATIONS, Event, EventChain
from physplan.guidance.measurement import Measured
from physplan.guidance.paper.keyframes import resize
from physplan.guidance.paper.selection import TermSpec
from physplan.perception.evidence import Evidence

FRAMES_APART = 4
TOLERANCE = 0.06  # differences up to this are the decoder's, not the video's


class KeepBystanders:
    """One term: by how much the bystanders' pixels differ from the first frame's, in one frame after another.

    Anchors are not enough: what happens after the last one is the video model's own.
    """

    def __init__(
        self, chain: EventChain, evidence: Evidence, *, size: tuple[int, int], device: torch.device
    ) -> None:
        self.anchors = chain.anchors
        self.frames = range(chain.num_frames - 1, 0, -FRAMES_APART)
        shape = evidence.first.image.shape[-2:]
        self.first = resize(evidence.first.image.to(device), size)
        self.specs: list[TermSpec] = []
        self.places: list[Tensor] = []  # [H, W] in [0, 1], per event
        for index, (event, keyframe) in enumerate(zip(chain.events, evidence.keyframes, strict=True)):
            known = evidence.first.masks
            nodes = tuple(node for node in bystanders(chain, event) if node in known)
            others = [mask for node, mask in known.items() if node not in nodes]
            others += [mask for node, mask in keyframe.masks.items() if node not in nodes]
            kept = _union([known[node] for node in nodes], shape) & ~_union(others, shape)
            self.specs.append(TermSpec(event=index, name="keep", objects=nodes))
            self.places.append(F.interpolate(kept[None, None].float(), size, mode="area")[0, 0].to(device))

    def turn(self, repeat: int) -> tuple[int, int]:
        """A frame of the round, from the last to the first, and the event that it leads to or comes after."""
        frame = self.frames[repeat % len(self.frames)]
        return frame, self.event_at(frame)

    def event_at(self, frame: int) -> int:
        """The event that a frame leads to; after the last anchor, the last."""
        return next((i for i, anchor in enumerate(self.anchors) if anchor >= frame), len(self.anchors) - 1)

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {"frame": frame}

    def measure(self, event: int, encoded: Mapping[str, Tensor]) -> tuple[Measured, ...]:
        spec, place = self.specs[event], self.places[event]
        if not place.any():
            return (Measured(spec=spec, skipped="every object is changed, or touches one that is"),)
        value = excess(encoded["frame"], self.first, place)
        return (Measured(spec=spec, value=value, region=place),)


class KeepRest:
    """At each anchor one term: the same, over all pixels in which the keyframe is the first frame."""

    def __init__(self, evidence: Evidence, *, size: tuple[int, int], device: torch.device) -> None:
        first = evidence.first.image
        self.first = resize(first.to(device), size)
        same = [(keyframe.image == first).all(0)[None, None].float() for keyframe in evidence.keyframes]
        self.places = [F.interpolate(place, size, mode="area")[0, 0].to(device) for place in same]

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {"frame": frame}

    def measure(self, event: int, encoded: Mapping[str, Tensor]) -> tuple[Measured, ...]:
        spec, place = TermSpec(event=event, name="rest"), self.places[event]
        if not place.any():
            return (Measured(spec=spec, skipped="no pixel of the keyframe is the first frame's"),)
        return (Measured(spec=spec, value=excess(encoded["frame"], self.first, place), region=place),)


def excess(frame: Tensor, first: Tensor, place: Tensor) -> Tensor:
    """The mean, over `place` [H, W], of what two pictures [3, H, W] differ by beyond the tolerance."""
    beyond = ((frame - first).abs() - TOLERANCE).clamp_min(0)
    return (beyond.mean(0) * place).sum() / place.sum()


def bystanders(chain: EventChain, event: Event) -> tuple[str, ...]:
    """The objects of the first frame that no edit names, and that are not so close to one that is named.

    What holds, contains, touches or is part of a named object may change with it: it gets wet, or moves
    along. What merely stands on a named table does not.
    """
    named = {node for edit in event.net_edits for node in edit.targets()}
    close = set()
    for edge in (edge for graph in (chain.graph, event.graph) for edge in graph.edges):
        if RELATIONS[edge.r].kind == "physical":
            close |= {edge.a} if edge.b in named else set()
            close |= {edge.b} if edge.a in named and edge.r != "support" else set()
    return tuple(node for node in chain.graph.ids if node not in named | close)


def _union(masks: list[Tensor], shape: torch.Size) -> Tensor:
    return torch.stack([torch.zeros(shape, dtype=torch.bool), *(mask.cpu() for mask in masks)]).any(0)
