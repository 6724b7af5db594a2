"""What a preview is held against: the graph's terms, the whole keyframe, or a loss of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import EventChain, Term
from physplan.guidance.comparison import EventKeyframe
from physplan.guidance.config import MeasureConfig
from physplan.guidance.extensions.bystanders import KeepRest
from physplan.guidance.extensions.frame_guidance import WholeFrameObjective
from physplan.guidance.extensions.selection import chosen_terms
from physplan.guidance.losses import find_loss
from physplan.guidance.measurement import Measured, measure_preview
from physplan.guidance.paper.keyframes import build_targets
from physplan.guidance.paper.measurement import encode_preview
from physplan.guidance.paper.selection import TermSpec
from physplan.perception.evidence import Evidence
from physplan.perception.protocol import DepthEstimator, FeatureEncoder


class Objective(Protocol):
    """The terms of an event as functions of its decoded frame: a costly step, then a cheap one per term."""

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        """What the event's terms read from `frame` [3, H, W], by name."""
        ...

    def measure(self, event: int, encoded: Mapping[str, Tensor]) -> tuple[Measured, ...]:
        """The event's terms."""
        ...


def measure_frame(objective: Objective, event: int, frame: Tensor) -> tuple[Measured, ...]:
    """Both steps at once: the event's terms, differentiable in `frame`."""
    return objective.measure(event, objective.encode(event, frame))


class GraphObjective:
    """Eq. 8: only what the plan's net edits select, object by object."""

    def __init__(
        self,
        chain: EventChain,
        evidence: Evidence,
        *,
        encoder: FeatureEncoder,
        depth: DepthEstimator,
        size: tuple[int, int],
        device: torch.device,
        config: MeasureConfig,
    ) -> None:
        self.encoder, self.depth, self.config = encoder, depth, config
        terms = [
            chosen_terms(chain, event, count=config.count, without=config.without)
            for event in range(len(chain.events))
        ]
        targets = build_targets(chain, evidence, terms, encoder=encoder, size=size, device=device)
        self.keyframes = [EventKeyframe.of(target, chain, config) for target in targets]

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        """The features, and the nearness on the same grid for events with a depth term."""
        if all(spec.name != Term.DEPTH for spec in self.keyframes[event].target.terms):
            return {"features": self.encoder(frame[None])[0]}
        features, nearness = encode_preview(frame, self.encoder, self.depth)
        return {"features": features, "nearness": nearness}

    def measure(self, event: int, encoded: Mapping[str, Tensor]) -> tuple[Measured, ...]:
        features, nearness = encoded["features"], encoded.get("nearness")
        return measure_preview(self.keyframes[event], features, nearness, config=self.config)


class CustomObjective:
    """A registered loss as one more term of every event."""

    def __init__(self, name: str, chain: EventChain, evidence: Evidence) -> None:
        self.name, self.loss, self.chain, self.evidence = name, find_loss(name), chain, evidence

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {"frame": frame}

    def measure(self, event: int, encoded: Mapping[str, Tensor]) -> tuple[Measured, ...]:
        value, region = self.loss(encoded["frame"], self.chain.events[event], self.evidence.keyframes[event])
        return (Measured(spec=TermSpec(event=event, name=self.name), value=value, region=region),)


class SumOfObjectives:
    def __init__(self, parts: list[Objective]) -> None:
        self.parts = parts

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {name: tensor for part in self.parts for name, tensor in part.encode(event, frame).items()}

    def measure(self, event: int, encoded: Mapping[str, Tensor]) -> tuple[Measured, ...]:
        return tuple(term for part in self.parts for term in part.measure(event, encoded))


def build_objective(
    losses: tuple[str, ...],
    chain: EventChain,
    evidence: Evidence,
    *,
    encoder: FeatureEncoder,
    depth: DepthEstimator,
    size: tuple[int, int],
    device: torch.device,
    config: MeasureConfig,
) -> Objective:
    """The sum of the named losses for previews of `size` (height, width)."""
    if len(evidence.keyframes) != len(chain.events):
        raise PhysPlanError(
            f"The plan has {len(chain.events)} events, but the evidence {len(evidence.keyframes)} keyframes:"
            " gather the evidence of this plan again."
        )
    parts: list[Objective] = []
    for name in losses:
        if name == "terms":
            parts.append(
                GraphObjective(
                    chain, evidence, encoder=encoder, depth=depth, size=size, device=device, config=config
                )
            )
        elif name == "rest":
            parts.append(KeepRest(evidence, size=size, device=device))
        elif name == "whole_frame":
            parts.append(WholeFrameObjective(evidence, size=size, device=device))
        else:
            parts.append(CustomObjective(name, chain, evidence))
    return parts[0] if len(parts) == 1 else SumOfObjectives(parts)
