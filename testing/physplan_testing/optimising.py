"""A picture's latent optimised by the update of eq. 10 through encoder and painter, without a video model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from physplan.guidance import MeasureConfig
from physplan.guidance.objective import GraphObjective
from physplan.guidance.paper.regions import pool
from physplan.guidance.paper.update import normalised, region_weights
from physplan_testing.pictures import ColourFeatures, Painter, ground_depth
from physplan_testing.stories import SIZE, Story


def objective_of(story: Story, config: MeasureConfig | None = None) -> GraphObjective:
    return GraphObjective(
        story.chain,
        story.evidence,
        encoder=ColourFeatures(),
        depth=ground_depth,
        size=SIZE,
        device=torch.device("cpu"),
        config=config or MeasureConfig(instance_level=0.05, fill_matched="all", fill="log", suppress="log"),
    )


def optimise(
    objective: GraphObjective,
    painter: Painter,
    start: Tensor,
    *,
    steps: int = 240,
    step_size: float = 3.0,
    outside_weight: float = 0.0,
    sharpen: float = 3.0,
    shown: Sequence[int] = (),
) -> tuple[Tensor, list[Tensor]]:
    """Descend from `start` [3, H, W] in shrinking steps; the last picture, and those at the `shown` steps."""
    latent, kept = painter.encode(start), []
    for step in range(steps + 1):
        sharpness = 1 + sharpen * step / steps
        if step in shown:
            kept.append(painter.decode(latent, sharpness))
        if step == steps:
            break
        leaf = latent.clone().requires_grad_()
        change = torch.zeros_like(latent)
        encoded = objective.encode(0, painter.decode(leaf, sharpness))
        for term in objective.measure(0, encoded):
            if term.value is None or term.region is None or term.value.detach() <= 1e-8:
                continue
            (gradient,) = torch.autograd.grad(term.value, leaf, retain_graph=True)
            weights = region_weights(pool(term.region, SIZE), outside_weight)
            change += weights * normalised(gradient)
        latent = latent - step_size * (1 - step / steps) * change
    return painter.decode(latent, sharpness), kept
