"""The verdict against the simulator's judge, on validation scenes: area under the curve, precision, recall.

    python -m benchmarks.verdict --scenes 225:250 --methods base sketch frame_guidance --seeds 2 --attempts 3

Unguided and guided videos together and apart, with 95 % intervals over scenes. With --attempts N every method
tries further seeds until the verdict holds, and the last lines say how often that ends well and how many it
takes. `--no-keyframes` judges by plan and picture alone. The editor errs at level 1.
`physplan evaluate sandbox` has the same figures of its own videos in `verdicts`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from physplan_bench.bootstrap import Interval, cluster_bootstrap
from physplan_bench.sandbox.arms import Arm
from physplan_bench.sandbox.benchmark import SandboxStudy
from physplan_bench.sandbox.making import best, make_attempts, verdict_on
from physplan_bench.sandbox.measure import bystanders
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_bench.sandbox.verdicts import against_judge
from physplan_bench.tables import format_cell
from physplan_sandbox.outcome import judge
from physplan_sandbox.world.phenomena import scene


@dataclass(frozen=True, kw_only=True)
class Judged:
    scene: int
    method: str
    score: float  # of the first attempt
    holds: bool
    right: bool
    attempts: int
    right_at_last: bool  # the attempt that was kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scenes", default="225:250", help="of the validation split")
    parser.add_argument("--methods", nargs="+", default=["base", "sketch"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--attempts", type=int, default=1, metavar="N")
    parser.add_argument("--no-keyframes", action="store_true", help="judge by plan and picture alone")
    args = parser.parse_args()
    torch.set_num_threads(1)
    first, last = map(int, args.scenes.split(":"))
    found = list(
        judged(range(first, last), args.methods, args.seeds, args.attempts, keyframes=not args.no_keyframes)
    )
    for name in ("together", *args.methods):
        chosen = [entry for entry in found if name in ("together", entry.method)]
        print(name, summary(chosen))
    for name in args.methods if args.attempts > 1 else ():
        print(name, success([entry for entry in found if entry.method == name], args.attempts))


def judged(
    numbers: range, methods: Sequence[str], seeds: int, attempts: int, *, keyframes: bool
) -> Iterator[Judged]:
    config = SandboxStudy.of_preset().config
    for number in numbers:
        here = PreparedScene(scene=scene("validation", number), config=config)
        idle = bystanders(here.scene, here.truth)

        def right(video: np.ndarray, here: PreparedScene = here, idle: tuple[str, ...] = idle) -> bool:
            truth = judge(here.scene, video / np.float32(255), uninvolved=idle)
            return truth.plausible and truth.preserved

        for method in methods:
            arm = Arm(name=f"{method}:{attempts}" if attempts > 1 else method)
            for seed in range(seeds):
                tried = make_attempts(here, arm, seed=seed)
                one = tried[0]
                verdict = one.verdict if keyframes else verdict_on(here, arm, one.video, keyframes=False)
                yield Judged(
                    scene=number,
                    method=method,
                    score=verdict.score,
                    holds=verdict.verdict == "holds",
                    right=right(one.video),
                    attempts=len(tried),
                    right_at_last=right(best(tried).video),
                )


def summary(entries: Sequence[Judged]) -> str:
    found = against_judge(
        [entry.score for entry in entries],
        [entry.holds for entry in entries],
        [entry.right for entry in entries],
        [entry.scene for entry in entries],
    )
    return (
        f"{found['videos']} videos, {found['right']:.0%} right: area under the curve "
        f"{_shown(found['area_under_curve'])}; holds: precision {_shown(found['precision'])}, "
        f"recall {_shown(found['recall'])}"
    )


def success(entries: Sequence[Judged], attempts: int) -> str:
    scenes = [entry.scene for entry in entries]
    at_once, at_last = (
        cluster_bootstrap(100.0 * np.array(values, float), scenes, share_of=100)
        for values in ([e.right for e in entries], [e.right_at_last for e in entries])
    )
    number = cluster_bootstrap(np.array([float(e.attempts) for e in entries]), scenes)
    return (
        f"right with one attempt {format_cell(at_once, 0)} %, with up to {attempts} "
        f"{format_cell(at_last, 0)} %, in {format_cell(number, 2)} attempts"
    )


def _shown(interval: dict[str, Any] | None) -> str:
    return format_cell(Interval(**interval) if interval else None, 2)


if __name__ == "__main__":
    main()
