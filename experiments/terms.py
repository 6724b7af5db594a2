"""What each term does to a picture, alone: `python -m experiments.terms` draws docs/images/terms.png.

A picture's latent is optimised by the update of eq. 10 through encoder and painter, without a video model.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from physplan_testing.optimising import objective_of, optimise
from physplan_testing.pictures import Painter
from physplan_testing.stories import stories


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
