"""VBench quality of a folder of videos: one case per video, means over videos, the Quality Score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan.evaluation.cases import Case
from physplan.evaluation.engine import CaseFunction, EngineConfig, Progress, run_cases
from physplan.evaluation.provenance import file_digest, provenance
from physplan.evaluation.vbench.score import DIMENSIONS, quality_score
from physplan.evaluation.videos import probe, read_video

LONG_SECONDS = 5.0


def find_videos(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise PhysPlanError(f"There is no folder {folder} with videos.")
    paths = sorted(
        path for path in folder.iterdir() if path.suffix.lower() in (".mp4", ".webm", ".mov", ".mkv")
    )
    if not paths:
        raise PhysPlanError(f"{folder} holds no video.")
    return paths


def evaluate(
    videos: Sequence[Path],
    specs: Mapping[str, str],  # dimension -> what measures it
    folder: Path,
    *,
    known: Mapping[str, float] | None = None,  # dimensions from elsewhere
    engine: EngineConfig | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    cases = [
        Case(
            name=f"{i:04d} {path.stem}",
            identity={"benchmark": "vbench 1", "video": file_digest(path), "measures": dict(specs)},
        )
        for i, path in enumerate(videos)
    ]
    paths = {case.name: path for case, path in zip(cases, videos, strict=True)}
    report = run_cases(cases, partial(make_measures, specs, paths), folder, config=engine, progress=progress)
    report.require_complete()
    values = {name: float(np.mean([result[name] for result in report.results.values()])) for name in specs}
    return summarise(
        {**(known or {}), **values},
        settings={"measures": dict(specs), "videos": len(report.results), "of": len(cases)},
        per_video={paths[name].name: dict(result) for name, result in report.results.items()},
        long=sum(probe(path).seconds >= LONG_SECONDS for path in videos),
    )


def make_measures(specs: Mapping[str, str], paths: Mapping[str, Path]) -> CaseFunction:
    from physplan.evaluation.vbench.extractors import make_measure

    measures = {name: make_measure(name, spec) for name, spec in specs.items()}

    def measure(case: Case, directory: Path) -> Mapping[str, Any]:
        path = paths[case.name]
        video = read_video(path)
        if len(video) < 2:
            raise PhysPlanError(f"{path} has only {len(video)} frame; the dimensions need at least two.")
        fps = probe(path).fps
        return {name: float(function(video, fps)) for name, function in measures.items()}

    return measure


def summarise(
    values: Mapping[str, float],
    *,
    settings: Mapping[str, Any],
    per_video: Mapping[str, Mapping[str, float]] | None = None,
    long: int = 0,
) -> dict[str, Any]:
    """The result, with the Quality Score when all seven dimensions are known."""
    ordered = {name: values[name] for name in DIMENSIONS if name in values}
    result: dict[str, Any] = {
        "benchmark": "vbench",
        "provenance": provenance(protocol="vbench quality", settings=settings),
        "dimensions": ordered,
        "quality_score": quality_score(ordered) if len(ordered) == len(DIMENSIONS) else None,
        "videos": dict(per_video or {}),
        "notes": [],
    }
    if long:
        result["notes"].append(f"{long} videos last 5 s or longer, which belong to VBench-Long.")
    return result
