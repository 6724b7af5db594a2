"""VBench quality of a folder of videos: one case per video, then means, and the Quality Score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.benchmark import Results
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.paper_tables import VBENCH_COLUMNS, reported_rows
from physplan_bench.provenance import file_digest, provenance
from physplan_bench.tables import Row, Table
from physplan_bench.vbench.score import DIMENSIONS, quality_score
from physplan_bench.videos import probe, read_video

LONG_SECONDS = 5.0
BY_FRAMES = ("subject_consistency", "background_consistency")  # every frame but a video's first counts once


@dataclass(frozen=True, kw_only=True)
class VBench:
    """Videos to measure, values that are known from elsewhere, or both."""

    videos: tuple[Path, ...] = ()
    measures: Mapping[str, str] = field(default_factory=dict)  # dimension -> what measures it
    known: Mapping[str, float] = field(default_factory=dict)  # dimension -> value
    files: tuple[str, ...] = ()  # where the known values are from
    name = "vbench"

    def cases(self) -> list[Case]:
        return [
            Case(
                name=name,
                identity={
                    "benchmark": "vbench 2",
                    "video": file_digest(path),
                    "measures": dict(self.measures),
                },
            )
            for name, path in self._paths().items()
        ]

    def _paths(self) -> dict[str, Path]:
        return {f"{i:04d} {path.stem}": path for i, path in enumerate(self.videos)}

    def setup(self) -> CaseFunction:
        from physplan_bench.vbench.extractors import make_measure

        measures = {name: make_measure(name, spec) for name, spec in self.measures.items()}
        return partial(measure, measures, self._paths())

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        """With the Quality Score when all seven dimensions are known. What is measured here comes first."""
        paths = self._paths()
        measured = {name: mean(name, results) for name in self.measures if results}
        values = {**self.known, **measured}
        ordered = {name: values[name] for name in DIMENSIONS if name in values}
        settings = {"measures": dict(self.measures), "results": list(self.files), "videos": len(results)}
        long = sum(probe(path).seconds >= LONG_SECONDS for path in self.videos)
        return {
            "provenance": provenance(protocol="vbench quality", settings=settings),
            "dimensions": ordered,
            "quality_score": quality_score(ordered) if len(ordered) == len(DIMENSIONS) else None,
            "videos": {paths[name].name: dict(result) for name, result in results.items()},
            "notes": [f"{long} videos last 5 s or longer, which belong to VBench-Long."] if long else [],
        }

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        values = [result["quality_score"], *(result["dimensions"].get(name) for name in DIMENSIONS)]
        cells = tuple(None if value is None else 100 * value for value in values)
        return Table(
            title="VBench quality (%)",
            columns=VBENCH_COLUMNS,
            rows=(Row(label=label, cells=cells),),
            note=" ".join(result["notes"]),
            unit="%",
            reported=reported_rows("vbench"),
        )


def measure(
    measures: Mapping[str, Any], paths: Mapping[str, Path], case: Case, directory: Path
) -> Mapping[str, Any]:
    path = paths[case.name]
    video = read_video(path)
    if len(video) < 2:
        raise PhysPlanError(f"{path} has only {len(video)} frame; the dimensions need at least two.")
    fps = probe(path).fps
    return {"frames": len(video), **{name: float(f(video, fps)) for name, f in measures.items()}}


def mean(dimension: str, results: Results) -> float:
    """Over videos, or over their frames where the official code, as a single process, does so."""
    weights = [result["frames"] - 1 if dimension in BY_FRAMES else 1 for result in results.values()]
    return float(np.average([result[dimension] for result in results.values()], weights=weights))
