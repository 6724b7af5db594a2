"""Guidance that starts from the sketch, beside the sketch alone: how the sandbox preset's setting was chosen.

    python -m experiments.sketch_start --scenes 225:250 --levels 0 1 [--only late mid] [--seeds 1]

Validation scenes. Time is CPU time over that of the unguided video of the same scene, so that it means
something on a busy machine; repeats are those that were done.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from physplan.guidance import Guide
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.latents_stage import SamplingRequest, make_latents
from physplan_bench.sandbox.measure import bystanders
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_sandbox.outcome import judge
from physplan_sandbox.world.phenomena import scene

LIMITS = {"count": 0.4, "appearance": 0.12, "extent": 0.01, "keep": 0.01}


def _repeats(*repeats: int) -> dict[str, Any]:
    """Of each step from where the sketch is let go, without time travel."""
    return {"repeats": list(repeats), "travel": [0, -1]}


ON_SKETCH = {
    "guided_sketch.start": "sketch",
    "guided_sketch.until": "satisfied",
    "guided_sketch.measure.satisfied_by": LIMITS,
}
EARLY = {**ON_SKETCH, "guided_sketch.weak": 0.1, "guided_sketch.strong": 0.2}  # the clocks of large models
BY_TERM = {"guided_sketch.measure.satisfied_by": LIMITS}  # each term ends where true videos have it
LONG = {"layout_steps": 2, "guided_steps": 8, "repeats": 10}  # the share of steps that algorithm 1 guides


def _recipe(weak: float, strong: float, repeats: int) -> dict[str, Any]:
    """What best and desk do, the same shares of 20 steps guided as there of 50; repeats are 10 in algorithm 1
    and 5 in those presets. One limit for all terms, as there; step size and threshold are the model's own."""
    return {
        "guided_sketch.weak": weak,
        "guided_sketch.strong": strong,
        "guided_sketch.measure.satisfied_by": dict.fromkeys(LIMITS, 0.002),
        "guided_sketch.schedule": {"layout_steps": 2, "guided_steps": 8, "repeats": repeats},
    }


CANDIDATES: Mapping[str, Mapping[str, Any]] = {
    "preset": {},
    "sketch alone": {**ON_SKETCH, "guided_sketch.schedule": _repeats()},
    "late": {**ON_SKETCH, "guided_sketch.schedule": _repeats(2, 2, 2)},
    "mid": {**ON_SKETCH, "guided_sketch.strong": 0.7, "guided_sketch.schedule": _repeats(2, 2, 2, 1, 1, 1)},
    "early": {**EARLY, "guided_sketch.schedule": _repeats(2, 2, 2, 2)},
    "early, long": {**EARLY, "guided_sketch.schedule": LONG},
    "noise, long": {"guided_sketch.start": "noise", "guided_sketch.schedule": LONG},
    "sketch 0.08": _recipe(0.08, 0.18, 0),
    "sketch 0.3": _recipe(0.3, 0.5, 0),
    "sketch 0.5": _recipe(0.5, 0.7, 0),
    "best, full": _recipe(0.08, 0.18, 10),
    "best, half": _recipe(0.08, 0.18, 5),
    "0.3, full": _recipe(0.3, 0.5, 10),
    "0.3, half": _recipe(0.3, 0.5, 5),
    "0.5, half": _recipe(0.5, 0.7, 5),
    "0.3, half, limits": _recipe(0.3, 0.5, 5) | BY_TERM,
    "0.5, half, limits": _recipe(0.5, 0.7, 5) | BY_TERM,
    "held to 0.7": {**ON_SKETCH, "guided_sketch.strong": 0.7, "guided_sketch.schedule": _repeats()},
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    plausible: bool
    kept: bool
    times: float  # an unguided video's
    repeats: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scenes", default="225:250", help="of the validation split")
    parser.add_argument("--levels", type=int, nargs="+", default=[1], help="of the editor's errors")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=list(CANDIDATES), help="candidates by name")
    parser.add_argument("--untimed", action="store_true", help="no unguided video, so no times")
    args = parser.parse_args()
    torch.set_num_threads(1)
    preset = with_defaults(load_config("sandbox"))
    configs = {name: load_config(preset, CANDIDATES[name]) for name in args.only}
    found: dict[tuple[str, int], list[Outcome]] = {}
    for number in range(*map(int, args.scenes.split(":"))):
        here = PreparedScene(scene=scene("validation", number), config=preset)
        for seed in range(args.seeds):
            unguided = float("nan") if args.untimed else sampled(here, preset, None, seed)[2]
            for level in args.levels:
                for name, config in configs.items():
                    found.setdefault((name, level), []).append(outcome(here, config, level, seed, unguided))
                    print(number, seed, level, name, found[name, level][-1], flush=True)
    for (name, level), outcomes in found.items():
        right = sum(one.plausible and one.kept for one in outcomes)
        print(
            f"{name:16} level {level}  plausible {sum(one.plausible for one in outcomes)}"
            f"  and kept {right} of {len(outcomes)}  time {np.mean([one.times for one in outcomes]):.2f}"
            f"  repeats {np.mean([one.repeats for one in outcomes]):.1f}"
        )


def outcome(here: PreparedScene, config: Config, level: int, seed: int, unguided: float) -> Outcome:
    chain, evidence = here.drawn(level)
    guide = Guide(chain=chain, evidence=evidence, config=config.guided_sketch)
    frames, losses, seconds = sampled(here, config, guide, seed)
    idle = bystanders(here.scene, here.truth)
    verdict = judge(here.scene, frames.permute(0, 2, 3, 1).clamp(0, 1).numpy(), uninvolved=idle)
    return Outcome(
        plausible=verdict.plausible,
        kept=verdict.preserved,
        times=seconds / unguided,
        repeats=losses["repeats"],
    )


def sampled(
    here: PreparedScene, config: Config, guide: Guide | None, seed: int
) -> tuple[Tensor, Mapping[str, Any], float]:
    """Frames, the record of the guidance, and CPU seconds of sampling and decoding, the sketch among them."""
    begun = time.process_time()
    made = make_latents(
        SamplingRequest(
            config=config,
            backends=here.backends,
            frame=here.picture,
            prompt=here.scene.prompt,
            seed=seed,
            guided_by=guide,
        )
    )
    with torch.no_grad():
        frames = here.backends.video.decode(made.latents, made.layout)
    return frames, made.losses, time.process_time() - begun


if __name__ == "__main__":
    main()
