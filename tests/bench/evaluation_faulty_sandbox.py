"""The sandbox's own cases, with faults on demand; a module, because Ray's workers import it.

As a script it is a driver that can be killed: `evaluation_faulty_sandbox.py FOLDER`.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import evaluation_standin as standin

from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction, EngineConfig, run_cases
from physplan_bench.sandbox.arms import arms
from physplan_bench.sandbox.benchmark import SandboxStudy
from physplan_bench.sandbox.measure import make_measure

# Real in every part, but sampled in few steps: 7 scenes, 2 seeds, 3 methods and the truth are 56 cases.
STUDY = SandboxStudy.of_preset(
    {
        "video.num_inference_steps": 4,
        "guided_sketch.schedule": {"repeats": [1, 1], "travel": [1, 1]},
        "frame_guidance.schedule": {"repeats": [1, 1], "travel": [1, 1]},
    },
    scenes=7,
    seeds=2,
    split="validation",
    first=200,
    arms=arms("base", "frame_guidance", "guided_sketch"),
)
CASES = STUDY.cases()
FAULTS = {CASES[3].name: "kill", CASES[11].name: "raise", CASES[17].name: "full disk", CASES[29].name: "kill",
          CASES[38].name: "raise"}  # fmt: skip
ON_RAY = EngineConfig(workers=2, ray="local", poll_seconds=0.05)


def setup(*, faults: dict[str, str] | None = None) -> CaseFunction:
    measure = make_measure(STUDY.config, STUDY.split, keep_videos=True)

    def do_case(case: Case, directory: Path) -> Any:
        standin.fail_once(case, directory, faults or {})
        return measure(case, directory)

    return do_case


if __name__ == "__main__":
    run_cases(CASES, partial(setup), Path(sys.argv[1]), config=ON_RAY)
