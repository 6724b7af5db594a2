"""Old videos verified again: runs with a plan and a video are verified again, nothing is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan.runs import layout
from physplan_bench.benchmark import Results
from physplan_bench.bootstrap import cluster_bootstrap
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.provenance import file_digest, provenance
from physplan_bench.records import Record
from physplan_bench.run_records import of_run
from physplan_bench.tables import Cell, Table, rows_of, titled


def find_runs(folders: Sequence[Path]) -> list[Path]:
    """Run folders with a plan and a video in or below these; attempts and base runs inside a run are not."""
    found = []
    for folder in folders:
        for path in sorted(folder.rglob(layout.RUN)):
            run = path.parent
            nested = {layout.ATTEMPTS_FOLDER, layout.BASE} & set(run.relative_to(folder).parts)
            if not nested and (run / layout.PLAN).is_file() and (run / layout.EXACT_VIDEO).is_file():
                found.append(run)
    if not found:
        raise PhysPlanError(
            "There is no run with a plan and a video in these folders: give runs of generate."
        )
    return found


@dataclass(frozen=True, kw_only=True)
class Rescore:
    """`preset`: whose perception is used, in place of each run's own; `judge` is asked beside them."""

    runs: Mapping[str, Path]
    preset: str | None = None
    judge: str | None = None
    budget: float | None = None
    name = "rescore"

    def cases(self) -> list[Case]:
        return [
            Case(
                name=name,
                identity={
                    "benchmark": "rescore 1",
                    "preset": self.preset,
                    "judge": self.judge,
                    "plan": file_digest(run / layout.PLAN),
                    "video": file_digest(run / layout.EXACT_VIDEO),
                    "evidence": file_digest(path) if (path := run / layout.EVIDENCE).is_file() else None,
                },
            )
            for name, run in self.runs.items()
        ]

    def setup(self) -> CaseFunction:
        from physplan.pipeline import PhysPlan
        from physplan.pipeline.config_loading import load_config

        kept: dict[Any, PhysPlan] = {}

        def judge_again(case: Case, directory: Path) -> Mapping[str, Any]:
            run = self.runs[case.name]
            config = load_config(self.preset or run / layout.CONFIG)
            pipeline = kept.setdefault(repr(config.perception), PhysPlan(config))
            return self._judge(run, pipeline, directory)

        return judge_again

    def _judge(self, run: Path, pipeline: Any, directory: Path) -> dict[str, Any]:
        from physplan.pictures import to_tensor
        from physplan.verify import verify_video
        from physplan.verify.framing import judged_together

        plan, video = layout.load_plan(run), layout.load_video(run)
        evidence = layout.load_evidence(run) if (run / layout.EVIDENCE).is_file() else None
        picture = layout.load_picture(run, layout.FRAME)
        area = picture.width * picture.height
        _, frames = judged_together(picture, video.frames, area=area)
        found = verify_video(
            plan, frames, perception=pipeline.backends, first_frame=to_tensor(picture), evidence=evidence
        )
        before = layout.load_verdict(run).verdict if (run / layout.VERDICT).is_file() else ""
        result = {"verdict": found.verdict, "score": found.score, "before": before}
        return result | (self._ask(plan, video, found, directory) if self.judge else {})

    def _ask(self, plan: Any, video: Any, found: Any, directory: Path) -> dict[str, Any]:
        from physplan.calls.named import connect_named
        from physplan.verify.by_judge import agreement_with, ask_judge

        assert self.judge is not None
        calls = directory.parents[1] / "calls"
        gateway, model = connect_named(self.judge, calls, budget=self.budget)
        judged = ask_judge(plan, video.frames, gateway=gateway, model=model, fps=video.fps)
        agreement = agreement_with(found, judged)
        return {"judge": judged.score, "compared": agreement["compared"], "agree": agreement["agree"]}

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        changed = [name for name, one in results.items() if one["before"] not in ("", one["verdict"])]
        settings = {"preset": self.preset}
        return {
            "provenance": provenance(protocol=self.name, judge=self.judge, settings=settings),
            "cases": dict(results),
            "changed": changed,
        }

    def records(self, result: Mapping[str, Any], label: str, folder: Path) -> list[Record]:
        found = []
        for name, one in result["cases"].items():
            own = {key: one[key] for key in ("before", "judge", "compared", "agree") if key in one}
            found.append(
                of_run(
                    self.runs[name],
                    scene=name,
                    score=one["score"],
                    good=one["verdict"] == "holds",
                    verdict=one["verdict"],
                    values=own,
                )
            )
        return found

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        by_method: dict[str, list[Record]] = {}
        for record in self.records(result, label, Path()):
            by_method.setdefault(record.method, []).append(record)
        rows: dict[str, tuple[Cell, ...]] = {}
        for method, records in by_method.items():
            holds = np.array([100.0 * bool(record.good) for record in records])
            before = [100.0 * (record.values["before"] == "holds") for record in records]
            judged = [float(record.values["judge"]) for record in records if "judge" in record.values]  # type: ignore[arg-type]
            rows[method] = (
                len(records),
                cluster_bootstrap(holds, [record.group for record in records]),
                float(np.mean(before)),
                float(np.mean(judged)) if judged else None,
                _agreement(records),
            )
        columns = ("holds, %", "held before, %", "judge", "agreement, %")
        return Table(
            title="Judged anew",
            columns=titled("videos", *columns, digits=1),
            rows=rows_of(rows),
            note=f"{len(result['changed'])} verdicts differ from those in the runs. Agreement: of the "
            "verdict with the judge, where both say yes or no.",
            unit="holds, %",
        )


def _agreement(records: Sequence[Record]) -> float | None:
    compared = sum(int(record.values.get("compared") or 0) for record in records)
    agree = sum(int(record.values.get("agree") or 0) for record in records)
    return 100 * agree / compared if compared else None


def named_runs(runs: Sequence[Path]) -> dict[str, Path]:
    """A name for each that says which it is: the shortest ending of its path that no other has."""
    for depth in range(1, 1 + max(len(run.absolute().parts) for run in runs)):
        names = ["-".join(run.absolute().parts[-depth:]) for run in runs]
        if len(set(names)) == len(runs) and all(name != "run" for name in names):
            return dict(zip(names, runs, strict=True))
    raise PhysPlanError("The same run is given twice: leave one out.")
