"""The time of a video by each method over that of an unguided one, in turns on the same scenes, in one run.

    python -m experiments.sandbox_time --scenes 200:206 --methods sketch storyboard guided_sketch

CPU seconds of one thread, so that what else the machine does counts little. A video is timed from plan and
keyframes on: sketch, sampling, decoding. Planning, drawing and looking are the same for all but `base`, and
seeds share them. The verification is timed apart; with it the last line says what N is fair for best_of_n.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from physplan_bench.bootstrap import Interval, cluster_bootstrap
from physplan_bench.sandbox.arms import Arm
from physplan_bench.sandbox.benchmark import SandboxStudy
from physplan_bench.sandbox.making import make_video, verdict_on
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_bench.tables import Column, Row, Table, render
from physplan_sandbox.world.phenomena import scene

METHODS = ("base", "sketch", "storyboard", "frame_guidance", "guided_sketch")
VERIFYING = "verification"

Times = Mapping[str, Sequence[float]]  # CPU seconds per turn


def measure(scenes: Sequence[int], methods: Sequence[str]) -> tuple[Times, list[int]]:
    """A turn is one scene: every method once, one after the other. The first scene is done twice, the first
    time untimed: libraries warm up."""
    config = SandboxStudy.of_preset().config
    times: dict[str, list[float]] = {name: [] for name in (*methods, VERIFYING)}
    for turn, index in enumerate((scenes[0], *scenes)):
        here = PreparedScene(scene=scene("validation", index), config=config)
        found = _turn(here, methods)
        if turn:
            for name, seconds in found.items():
                times[name].append(seconds)
            print(f"scene {index}: " + ", ".join(f"{k} {v:.2f}" for k, v in found.items()), flush=True)
    return times, list(scenes)


def _turn(here: PreparedScene, methods: Sequence[str]) -> dict[str, float]:
    here.drawn(1)
    found = {}
    for name in methods:
        begun = time.process_time()
        video = make_video(here, Arm(name=name), seed=0)
        found[name] = time.process_time() - begun
    begun = time.process_time()
    verdict_on(here, Arm(name="base"), video)
    return {**found, VERIFYING: time.process_time() - begun}


def ratio(times: Times, name: str, scenes: Sequence[int]) -> Interval:
    """Of the sums, with the interval over scenes."""
    pairs = np.array([times[name], times["base"]]).T
    return cluster_bootstrap(pairs, scenes, statistic=lambda p: float(p[:, 0].sum() / p[:, 1].sum()))


def table(times: Times, scenes: Sequence[int]) -> Table:
    return Table(
        title=f"Time of one video, {len(scenes)} validation scenes in turns",
        columns=(Column(title="CPU s, median"), Column(title="times the unguided")),
        rows=tuple(
            Row(label=name, cells=(float(np.median(times[name])), ratio(times, name, scenes)))
            for name in times
        ),
        note="One thread; sketch, sampling and decoding. 95 % intervals over scenes.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scenes", default="200:206", help="of the validation split, for example 200:206")
    parser.add_argument("--methods", nargs="+", default=METHODS, metavar="NAME")
    parser.add_argument("--format", default="text", choices=("text", "markdown"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    first, last = map(int, args.scenes.split(":"))
    times, scenes = measure(range(first, last), list(dict.fromkeys(("base", *args.methods))))
    print(render(table(times, scenes), args.format), end="")
    one = np.mean(times["base"]) + np.mean(times[VERIFYING])
    slowest = max(args.methods, key=lambda name: np.mean(times[name]))
    fits = int(np.mean(times[slowest]) / one)
    print(
        f"Of unguided videos, each verified, {fits} fit into the time of {slowest}: best_of_n:{max(fits, 1)}."
    )


if __name__ == "__main__":
    main()
