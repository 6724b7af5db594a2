"""Settings of the methods side by side on validation scenes: how the sandbox preset's were chosen.

    python -m experiments.sandbox_tuning CANDIDATES.yaml --scenes 24 --workers 2

The file names each candidate with its method and what it changes in the preset, for example

    longer steps: {method: frame_guidance, frame_guidance.step_size: 20}
    by turns: {method: guided_sketch, guided_sketch.events_per_repeat: 1}

`level: 2` sets the editor's error level (default 1); `--levels 1 2` runs every candidate at each. Cases are
stored under --work: a second call makes only what is new.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from physplan_bench.cases import Case
from physplan_bench.cli.evaluate.common import show_progress
from physplan_bench.engine import CaseFunction, EngineConfig, run_cases
from physplan_bench.sandbox.arms import Arm
from physplan_bench.sandbox.benchmark import SandboxStudy
from physplan_bench.sandbox.measure import make_measure
from physplan_bench.sandbox.summary import mean_known, realism

FIRST = 100  # validation scenes below were looked at while the sandbox was made


@dataclass(frozen=True, kw_only=True)
class Candidate:
    name: str
    study: SandboxStudy  # of one arm

    @property
    def arm(self) -> Arm:
        return self.study.arms[0]

    def cases(self) -> list[Case]:
        prefix = f"{self.name} {self.arm.level}".replace(" ", "-")
        return [replace(case, name=f"{prefix}-{case.name}") for _, case in self.study.parts]

    def line(self, results: list[Mapping[str, Any]], true: list[Mapping[str, Any]]) -> str:
        """Right and real: settings are chosen by both. The segmenter's distance is kept for the report."""
        measured = [(case.identity, result) for case, result in zip(self.cases(), results, strict=True)]
        distance = realism(measured, true)["frechet"]["encoder"]["value"]
        astray = mean_known([r["centroid_error"] for r in results], [c["scene"] for c, _ in measured])
        plausible, kept = (np.array([r[key] for r in results]) for key in ("plausible", "preserved"))
        margin = np.mean([r["margin"] for r in results])
        change = np.mean([max(r["changes"].values(), default=0) for r in results])
        return (
            f"{self.name:34s} {self.arm.method:15s} level {self.arm.level}  plausible {plausible.mean():4.0%}"
            f"  and kept {(plausible & kept).mean():4.0%}  margin {margin:+.2f}"
            f"  change {change:.3f}  Frechet {distance:.0f}"
            f"  centroid {astray['value'] if astray else float('nan'):.1f} %"
            f"  {np.median([r['seconds'] for r in results]):.1f} s"
        )


def read(args: argparse.Namespace) -> list[Candidate]:
    found = []
    for name, given in yaml.safe_load(args.candidates.read_text()).items():
        for level in args.levels:
            changes = dict(given or {})
            arm = Arm(name=changes.pop("method", "guided_sketch"), level=changes.pop("level", level))
            where = {"split": "validation", "first": args.first, "scenes": args.scenes, "seeds": args.seeds}
            found.append(Candidate(name=name, study=SandboxStudy.of_preset(changes, arms=(arm,), **where)))
    return found


def setup(candidates: list[Candidate]) -> CaseFunction:
    functions: dict[str, CaseFunction] = {}
    for candidate in candidates:
        function = make_measure(candidate.study.config, "validation", keep_videos=False)
        functions |= {case.name: function for case in (*candidate.cases(), *candidate.study.reference)}
    return partial(_dispatch, functions)


def _dispatch(functions: Mapping[str, CaseFunction], case: Case, directory: Path) -> Mapping[str, Any]:
    return functions[case.name](case, directory)


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
    candidates = read(args)
    reference = candidates[0].study.reference  # the same true videos for all
    cases = [*reference, *(case for candidate in candidates for case in candidate.cases())]
    config = EngineConfig(workers=args.workers)
    report = run_cases(cases, partial(setup, candidates), args.work, config=config, progress=show_progress)
    report.require_complete()
    true = [report.results[case.name] for case in reference]
    for candidate in candidates:
        print(candidate.line([report.results[case.name] for case in candidate.cases()], true))


if __name__ == "__main__":
    main()
