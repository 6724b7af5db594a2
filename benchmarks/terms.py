"""What each term does to a picture, alone: `python -m benchmarks.terms` draws docs/images/terms.png.

A picture's latent is optimised by the update of eq. 10 through encoder and painter, without a video model.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.pictures import ColourFeatures, Painter, ground_depth
from benchmarks.stories import SIZE, Story, stories
from physplan.guidance import MeasureConfig
from physplan.guidance.objective import GraphObjective
from physplan.guidance.regions import pool
from physplan.guidance.update import normalised, region_weights


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
        for term in objective.measure(0, encoded, step / steps):
            if term.value is None or term.region is None or term.value.detach() <= 1e-8:
                continue
            (gradient,) = torch.autograd.grad(term.value, leaf, retain_graph=True)
            weights = region_weights(pool(term.region, SIZE), outside_weight)
            change += weights * normalised(gradient)
        latent = latent - step_size * (1 - step / steps) * change
    return painter.decode(latent, sharpness), kept


def film_strip(path: Path, steps: int = 240) -> None:
    """A row per story: the start, five pictures on the way, and the keyframe."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = (0, steps // 16, steps // 8, steps // 4, steps // 2, steps)
    told = stories()
    figure, axes = plt.subplots(len(told), len(shown) + 1, figsize=(1.75 * (len(shown) + 1), 1.5 * len(told)))
    for row, story in zip(axes, told, strict=True):
        painter = Painter(story.start, story.target)
        _, kept = optimise(objective_of(story), painter, story.start, steps=steps, shown=shown)
        for axis, picture in zip(row, [*kept, story.target], strict=True):
            axis.imshow(picture.permute(1, 2, 0).numpy(), vmin=0, vmax=1)
            axis.set_xticks([])
            axis.set_yticks([])
        row[0].set_ylabel(story.name.replace(" (", "\n("), fontsize=8)
    for axis, title in zip(axes[0], [*(f"step {step}" for step in shown), "keyframe"], strict=True):
        axis.set_title(title, fontsize=9)
    figure.tight_layout(pad=0.4)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/images/terms.png"))
    film_strip(parser.parse_args().output)
