"""Not in the paper: what the plan leaves alone is held to the first frame, which no editor has drawn."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.graph import RELATIONS, Event, EventChain
from physplan.guidance.measurement import Measured
from physplan.guidance.selection import TermSpec
from physplan.guidance.targets import resize
from physplan.perception.evidence import Evidence

TOLERANCE = 0.06  # differences up to this are the decoder's, not the video's


class KeepObjective:
    """One term per event: by how much the bystanders' pixels differ from the first frame's."""

    def __init__(
        self, chain: EventChain, evidence: Evidence, *, size: tuple[int, int], device: torch.device
    ) -> None:
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

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {"frame": frame}

    def measure(self, event: int, encoded: Mapping[str, Tensor], progress: float) -> tuple[Measured, ...]:
        spec, place = self.specs[event], self.places[event]
        if not place.any():
            return (Measured(spec=spec, skipped="every object is changed, or touches one that is"),)
        value = excess(encoded["frame"], self.first, place)
        return (Measured(spec=spec, value=value, region=place),)


def excess(frame: Tensor, first: Tensor, place: Tensor) -> Tensor:
    """The mean, over `place` [H, W], of what two pictures [3, H, W] differ by beyond the tolerance."""
    beyond = ((frame - first).abs() - TOLERANCE).clamp_min(0)
    return (beyond.mean(0) * place).sum() / place.sum()


def bystanders(chain: EventChain, event: Event) -> tuple[str, ...]:
    """The objects of the first frame that no edit names, and that touch none that an edit names."""
    named = {node for edit in event.net_edits for node in edit.targets()}
    edges = [edge for graph in (chain.graph, event.graph) for edge in graph.edges]
    near = {
        end
        for edge in edges
        if RELATIONS[edge.r].kind == "physical" and (edge.a in named or edge.b in named)
        for end in (edge.a, edge.b)
    }
    return tuple(node for node in chain.graph.ids if node not in named | near)


def _union(masks: list[Tensor], shape: torch.Size) -> Tensor:
    return torch.stack([torch.zeros(shape, dtype=torch.bool), *(mask.cpu() for mask in masks)]).any(0)
