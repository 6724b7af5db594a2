"""PhyGround end to end: one case per video, then the leaderboard's row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.benchmark import Results
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.generation import read_record
from physplan_bench.phyground.aggregate import VideoScores, law_means, model_row
from physplan_bench.phyground.dataset import Prompt
from physplan_bench.phyground.judging import Judge
from physplan_bench.phyground.laws import DOMAINS, GENERAL
from physplan_bench.phyground.templates import Templates
from physplan_bench.provenance import file_digest, provenance
from physplan_bench.records import Record, records_of
from physplan_bench.run_records import add_run
from physplan_bench.tables import Table, rows_of, titled
from physplan_bench.videos import read_video

COLUMNS = (*GENERAL, *DOMAINS, "Overall")


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """All of it changes the scores."""

    judge: str  # gemini:MODEL or openai:MODEL[@URL]
    frames: int = 16  # sampled evenly
    templates: Templates = field(default_factory=Templates)


@dataclass(frozen=True, kw_only=True)
class PhyGround:
    """`make_judge` is called in the worker: keys do not travel."""

    prompts: Sequence[Prompt]
    videos: Path
    config: JudgeConfig
    make_judge: Callable[[], Judge]
    name = "phyground"

    def cases(self) -> list[Case]:
        paths = {prompt.video: self.videos / f"{prompt.video}.mp4" for prompt in self.prompts}
        if missing := [path for path in paths.values() if not path.is_file()]:
            raise PhysPlanError(
                f"{len(missing)} of {len(paths)} videos are missing, the first is {missing[0]}."
            )
        return [
            Case(
                name=prompt.video,
                identity={
                    "benchmark": "phyground 1",
                    "video": file_digest(paths[prompt.video]),
                    "prompt": asdict(prompt),
                    "judge": asdict(self.config),
                },
            )
            for prompt in self.prompts
        ]

    def setup(self) -> CaseFunction:
        judge = self.make_judge()
        prompts = {prompt.video: prompt for prompt in self.prompts}

        def rate(case: Case, directory: Path) -> Mapping[str, Any]:
            frames = sample(read_video(self.videos / f"{case.name}.mp4"), self.config.frames)
            return asdict(judge.rate(frames, prompts[case.name]))

        return rate

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        scores = [VideoScores(**results[prompt.video]) for prompt in self.prompts]
        unscored = sum(video.coverage < 1 for video in scores)
        return {
            "provenance": provenance(
                protocol=self.name, judge=self.config.judge, settings=asdict(self.config)
            ),
            "row": model_row(scores),
            "laws": {law: {"mean": mean, "videos": n} for law, (mean, n) in law_means(scores).items()},
            "warnings": [f"{unscored} videos have laws that the judge did not score."] if unscored else [],
            "videos": [asdict(video) for video in scores],
            "generation": read_record(self.videos),
        }

    def records(self, result: Mapping[str, Any], label: str, folder: Path) -> list[Record]:
        """With the videos, and what the runs that made them left beside these."""
        texts = {prompt.video: prompt.text for prompt in self.prompts}
        return [
            add_run(
                replace(one, prompt=texts[one.scene], video=str(self.videos / f"{one.scene}.mp4")),
                self.videos,
            )
            for one in records_of(result, label)
        ]

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        return row_table({label: result["row"]}, f"Judge: {result['provenance']['judge']}.")


def sample(video: np.ndarray, count: int) -> list[np.ndarray]:
    """`count` frames, evenly spaced, first and last among them."""
    places = np.linspace(0, len(video) - 1, min(count, len(video))).round().astype(int)
    return [video[place] for place in places]


def row_table(rows: Mapping[str, Mapping[str, float | None]], note: str) -> Table:
    return Table(
        title="PhyGround, 1 to 5",
        columns=titled(*COLUMNS),
        rows=rows_of({label: [row[name] for name in COLUMNS] for label, row in rows.items()}),
        note=note,
        unit="score",
    )
