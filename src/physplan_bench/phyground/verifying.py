"""Our verdict on a folder of videos per model: one plan per prompt, then `physplan verify` on every video."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.benchmark import Results
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.phyground.aggregate import VideoScores
from physplan_bench.phyground.calibrate import Judged, best_limit, compare
from physplan_bench.phyground.dataset import Prompt
from physplan_bench.provenance import file_digest, provenance
from physplan_bench.tables import Table, rows_of, titled

FIGURES = ("spearman", "auc", "precision", "recall")


@dataclass(frozen=True, kw_only=True)
class CalibrateVerify:
    """`human`: model -> its rated videos; `videos` holds a folder per model."""

    prompts: Sequence[Prompt]
    first_frames: Mapping[str, Path]
    videos: Path
    human: Mapping[str, Sequence[VideoScores]]
    preset: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    name = "phyground verify"

    def cases(self) -> list[Case]:
        """One per prompt: its plan is made once and serves the videos of all models."""
        found = {prompt.video: self._videos(prompt.video) for prompt in self.prompts}
        if not any(found.values()):
            raise PhysPlanError(
                f"{self.videos} holds no rated video: it should have a folder per model "
                f"({', '.join(sorted(self.human)[:3])}, ...) with files such as {self.prompts[0].video}.mp4."
            )
        return [
            Case(
                name=name,
                identity={
                    "benchmark": "phyground verify 1",
                    "preset": self.preset,
                    "overrides": dict(self.overrides),
                    "first_frame": file_digest(self.first_frames[name]),
                    "videos": {model: file_digest(path) for model, path in paths.items()},
                },
            )
            for name, paths in found.items()
            if paths
        ]

    def setup(self) -> CaseFunction:
        from physplan.pipeline import PhysPlan

        pp = PhysPlan.from_preset(self.preset, **dict(self.overrides))
        texts = {prompt.video: prompt.text for prompt in self.prompts}

        def verify(case: Case, directory: Path) -> Mapping[str, Any]:
            plan = pp.plan(self.first_frames[case.name], texts[case.name])
            return {
                model: _verdict(plan, path, self.first_frames[case.name], pp)
                for model, path in self._videos(case.name).items()
            }

        return verify

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        judged = self._judged(results)
        return {
            "provenance": provenance(protocol=self.name, settings={"preset": self.preset}),
            **compare(judged),
            "best_limit": best_limit(judged),
        }

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        rows = {"all laws": result["all"], **result["laws"]}
        left = len(result["left_out"])
        return Table(
            title=f"The verdict against human ratings, {label}",
            columns=titled("videos", *FIGURES),
            rows=rows_of({name: [row[one] for one in ("videos", *FIGURES)] for name, row in rows.items()}),
            note=f"A human mean of 4 or more counts as right. {left} scenes of Physics-IQ are left out.",
            unit="agreement",
        )

    def _videos(self, name: str) -> dict[str, Path]:
        paths = {model: self.videos / model / f"{name}.mp4" for model in sorted(self.human)}
        return {model: path for model, path in paths.items() if path.is_file()}

    def _judged(self, results: Results) -> list[Judged]:
        prompts = {prompt.video: prompt for prompt in self.prompts}
        rated = {(model, one.video): one for model, videos in self.human.items() for one in videos}
        return [
            Judged(model=model, prompt=prompts[name], human=rated[model, name], **found)
            for name, verdicts in results.items()
            for model, found in verdicts.items()
            if (model, name) in rated
        ]


def _verdict(plan: Any, video: Path, first_frame: Path, pp: Any) -> dict[str, Any]:
    from physplan.pipeline.backends import Backends
    from physplan.reasoning.picture import Picture
    from physplan.verify import verify_video
    from physplan.verify.framing import judged_together
    from physplan.video.files import read_video

    frames, picture = read_video(video).frames, Picture.of(first_frame).image
    area = pp.config.video.clip.width * pp.config.video.clip.height
    first, frames = judged_together(picture, frames, area=area)
    found = verify_video(plan, frames, perception=Backends(pp.config), first_frame=first)
    return {"verdict": found.verdict, "score": found.score}
