"""Settings of both guided methods side by side on validation scenes: how the sandbox preset's were chosen.

    python -m benchmarks.sandbox_tuning CANDIDATES.yaml --scenes 24 --workers 2

The file names each candidate with its method and what it changes in the preset, for example

    longer steps: {method: frame_guidance, frame_guidance.step_size: 20}
    by turns: {method: physplan, guidance.events_per_repeat: 1}

`level: 2` sets the editor's error level (default 1); `--levels 1 2` runs every candidate at each. Cases are
stored under --work: a second call makes only what is new.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from physplan.evaluation.engine import EngineConfig, run_cases
from physplan.evaluation.sandbox.arms import Arm
from physplan.evaluation.sandbox.benchmark import SandboxStudy
from physplan.evaluation.sandbox.measure import make_measure

FIRST = 100  # validation scenes below were looked at while the sandbox was made


def measure(name: str, changes: dict[str, Any], level: int, args: argparse.Namespace) -> None:
    arm = Arm(name=changes.pop("method", "physplan"), level=changes.pop("level", level))
    study = SandboxStudy.of_preset(
        changes, scenes=args.scenes, seeds=args.seeds, split="validation", first=args.first, arms=(arm,)
    )

    def setup() -> Any:
        return make_measure(study.config, {arm.label: arm}, study.split, keep_videos=False)

    cases = study.cases()
    report = run_cases(cases, setup, args.work, config=EngineConfig(workers=args.workers))
    report.require_complete()
    results = [report.results[case.name] for case in cases]
    plausible, kept = (np.array([r[key] for r in results]) for key in ("plausible", "preserved"))
    print(
        f"{name:34s} {arm.method:18s} level {arm.level}  plausible {plausible.mean():4.0%}"
        f"  and kept {(plausible & kept).mean():4.0%}  margin {np.mean([r['margin'] for r in results]):+.2f}"
        f"  change {np.mean([max(r['changes'].values(), default=0) for r in results]):.3f}"
        f"  {np.median([r['seconds'] for r in results]):.1f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("candidates", type=Path)
    parser.add_argument("--scenes", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=FIRST)
    parser.add_argument("--levels", type=int, nargs="+", default=[1])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("out/tuning"))
    args = parser.parse_args()
    for name, changes in yaml.safe_load(args.candidates.read_text()).items():
        for level in args.levels:
            measure(name, dict(changes or {}), level, args)


if __name__ == "__main__":
    main()
