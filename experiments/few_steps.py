"""Guidance and the two clocks where a video has few steps, in the sandbox's scheduler.

    python -m experiments.few_steps --scenes 240:246 --steps 4 8 14

Validation scenes, the editor's level 1, one seed. The sandbox's model is not distilled: the unguided row says
what few steps alone cost. `noise, per step` has as many repeats in a guided step as the recipe,
`noise, in all` as many in all. Time is CPU time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from experiments.sketch_start import sampled
from physplan.guidance import Guide
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan_bench.sandbox.measure import bystanders
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_sandbox.outcome import judge
from physplan_sandbox.world.phenomena import scene

USUAL_STEPS, GUIDED_STEPS, REPEATS = 14, 8, 21  # of the recipe
LEVEL = 1


def recipes(steps: int) -> Iterator[tuple[str, Config, str | None]]:
    """Rows by name: the settings, and whose guidance."""
    usual: dict[str, Any] = {"video.num_inference_steps": steps}
    guided = max(1, round(GUIDED_STEPS * steps / USUAL_STEPS))
    yield "unguided", load("sandbox", usual), None
    alone = {"guided_sketch.schedule": {"repeats": [0], "travel": [0, -1]}}
    yield "two clocks", load("sandbox", usual | alone), "guided_sketch"
    yield "two clocks, guided", load("sandbox", usual), "guided_sketch"
    for name, repeats in (("per step", 3), ("in all", round(REPEATS / guided))):
        schedule = {"repeats": [repeats] * guided, "travel": [guided // 2, guided - 1]}
        yield f"noise, {name}", load("sandbox", usual | {"guidance.schedule": schedule}), "guidance"


def load(preset: str, changes: dict[str, Any]) -> Config:
    return with_defaults(load_config(preset, changes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scenes", default="240:246", help="of the validation split")
    parser.add_argument("--steps", type=int, nargs="+", default=[4, 8, 14])
    args = parser.parse_args()
    torch.set_num_threads(1)
    numbers = range(*map(int, args.scenes.split(":")))
    for steps in args.steps:
        for name, config, by in recipes(steps):
            found = [outcome(config, by, number) for number in numbers]
            right, kept, seconds, repeats = (float(np.sum([one[k] for one in found])) for k in range(4))
            print(
                f"{steps:2} steps  {name:20} plausible {right:.0f}, and kept {kept:.0f} of {len(found)}"
                f"  {seconds / len(found):.1f} s  repeats {repeats / len(found):.1f}",
                flush=True,
            )


def outcome(config: Config, by: str | None, number: int) -> tuple[bool, bool, float, float]:
    here = SETTINGS(number)
    guide: Guide | None = None
    if by is not None:
        chain, evidence = here.drawn(LEVEL)
        guide = Guide(chain=chain, evidence=evidence, config=getattr(config, by))
    frames, losses, seconds = sampled(here, config, guide, 0)
    shown = frames.permute(0, 2, 3, 1).clamp(0, 1).numpy()
    verdict = judge(here.scene, shown, uninvolved=bystanders(here.scene, here.truth))
    return verdict.plausible, verdict.plausible and verdict.preserved, seconds, losses["repeats"]


def _settings() -> Callable[[int], PreparedScene]:
    known: dict[int, PreparedScene] = {}

    def of(number: int) -> PreparedScene:
        if number not in known:
            known[number] = PreparedScene(scene=scene("validation", number), config=load("sandbox", {}))
        return known[number]

    return of


SETTINGS = _settings()


if __name__ == "__main__":
    main()
