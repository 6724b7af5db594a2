"""How many unguided videos fit into the time of a method: the N of best_of_n, from what the runs took."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from physplan.errors import PhysPlanError
from physplan.runs import StageRecord, layout
from physplan_bench.records import load_result, records_of

SAMPLED = ("sketch", "latents", "video")
MAX_VIDEOS = 100


def equal_count(method: float, base: float) -> int:
    """N videos of `base` seconds each take at most `method` seconds; one there is in any case."""
    return max(1, min(MAX_VIDEOS, int(method / base + 1e-6)))


def seconds_of(part: Path, *, choosing: bool = False) -> float:
    """The median time of one video in the runs of a part; with `choosing` its verdict too."""
    stages = (*SAMPLED, "verdict") if choosing else SAMPLED
    found = []
    for run in sorted((part / "videos.cases" / "cases").glob("*/run")):
        records = [StageRecord.load(run, layout.record(stage)) for stage in stages]
        if records[2] is not None:  # the video
            found.append(sum(record.seconds for record in records if record))
    if not found and (result := part / "result.json").is_file():  # the sandbox writes seconds per video
        found = [
            float(record.values["seconds"] or 0)
            for record in records_of(load_result(result))
            if "seconds" in record.values
        ]
    if not found:
        raise PhysPlanError(f"{part} has no runs whose time is known, so no N of equal time follows from it.")
    return median(found)
