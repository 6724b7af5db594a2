"""What a preview is held against: the graph's terms, the whole keyframe, or a loss of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import Event, EventChain, Term
from physplan.guidance.config import MeasureConfig
from physplan.guidance.measurement import Measured, measure_preview
from physplan.guidance.selection import TermSpec
from physplan.guidance.targets import build_targets
from physplan.perception.evidence import Evidence, KeyframeEvidence
from physplan.perception.protocol import DepthEstimator, FeatureEncoder, normalise_depth
from physplan.pictures import to_picture, to_tensor
from physplan.registry import did_you_mean


class Objective(Protocol):
    """The terms of an event as functions of its decoded frame: a costly step, then a cheap one per term."""

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        """What the event's terms read from `frame` [3, H, W], by name."""
        ...

    def measure(self, event: int, encoded: Mapping[str, Tensor], progress: float) -> tuple[Measured, ...]:
        """The event's terms; `progress` in [0, 1] is the share of guided steps that are done."""
        ...


def measure_frame(
    objective: Objective, event: int, frame: Tensor, progress: float = 0.0
) -> tuple[Measured, ...]:
    """Both steps at once: the event's terms, differentiable in `frame`."""
    return objective.measure(event, objective.encode(event, frame), progress)


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
        self.targets = build_targets(
            chain, evidence, encoder=encoder, size=size, device=device, config=config
        )

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        """The features, and the nearness on the same grid for events with a depth term."""
        features = self.encoder(frame[None])[0]
        if all(spec.name != Term.DEPTH for spec in self.targets[event].terms):
            return {"features": features}
        grid = (features.shape[-2], features.shape[-1])
        nearness = F.adaptive_avg_pool2d(normalise_depth(self.depth(frame[None])), grid)[0]
        return {"features": features, "nearness": nearness}

    def measure(self, event: int, encoded: Mapping[str, Tensor], progress: float) -> tuple[Measured, ...]:
        return measure_preview(
            self.targets[event],
            encoded["features"],
            encoded.get("nearness"),
            config=self.config,
            temperature=self.config.temperature_at(progress),
        )


class WholeFrameObjective:
    """Frame Guidance's loss, and ablation (iii): the mean squared difference to the keyframe, all of it."""

    def __init__(self, evidence: Evidence, *, size: tuple[int, int], device: torch.device) -> None:
        self.keyframes = [lanczos(picture.image, size).to(device) for picture in evidence.keyframes]

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {"frame": frame}

    def measure(self, event: int, encoded: Mapping[str, Tensor], progress: float) -> tuple[Measured, ...]:
        value = F.mse_loss(encoded["frame"], self.keyframes[event])
        return (Measured(spec=TermSpec(event=event, name="whole_frame"), value=value),)


def lanczos(image: Tensor, size: tuple[int, int]) -> Tensor:
    """A picture [3, H, W] in [0, 1] at `size` (height, width), resized as Frame Guidance's code does it."""
    if tuple(image.shape[-2:]) == size:
        return image
    return to_tensor(to_picture(image).resize(size[::-1], Image.Resampling.LANCZOS))


class CustomObjective:
    """A registered loss as one more term of every event."""

    def __init__(self, name: str, chain: EventChain, evidence: Evidence) -> None:
        self.name, self.loss, self.chain, self.evidence = name, LOSSES[name], chain, evidence

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {"frame": frame}

    def measure(self, event: int, encoded: Mapping[str, Tensor], progress: float) -> tuple[Measured, ...]:
        value, region = self.loss(encoded["frame"], self.chain.events[event], self.evidence.keyframes[event])
        return (Measured(spec=TermSpec(event=event, name=self.name), value=value, region=region),)


class SumOfObjectives:
    def __init__(self, parts: list[Objective]) -> None:
        self.parts = parts

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {name: tensor for part in self.parts for name, tensor in part.encode(event, frame).items()}

    def measure(self, event: int, encoded: Mapping[str, Tensor], progress: float) -> tuple[Measured, ...]:
        return tuple(term for part in self.parts for term in part.measure(event, encoded, progress))


# From a frame [3, H, W], the event it belongs to and the event's keyframe to a scalar and the region [h, w],
# on any grid, that it may change (None: everywhere).
Loss = Callable[[Tensor, Event, KeyframeEvidence], tuple[Tensor, Tensor | None]]

BUILT_IN = ("terms", "whole_frame")
LOSSES: dict[str, Loss] = {}


def register_loss(name: str) -> Callable[[Loss], Loss]:
    """Make a loss available as `GuidanceConfig(losses=("terms", name))`."""
    if name in BUILT_IN or name in LOSSES:
        raise PhysPlanError(f"A loss named {name!r} exists already: choose another name.")

    def register(loss: Loss) -> Loss:
        LOSSES[name] = loss
        return loss

    return register


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
        elif name == "whole_frame":
            parts.append(WholeFrameObjective(evidence, size=size, device=device))
        elif name in LOSSES:
            parts.append(CustomObjective(name, chain, evidence))
        else:
            raise PhysPlanError(
                f"There is no loss named {name!r}. {did_you_mean(name, (*BUILT_IN, *LOSSES))}"
            )
    return parts[0] if len(parts) == 1 else SumOfObjectives(parts)
