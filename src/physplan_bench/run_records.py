"""What the run that made a benchmark's video left: plan, keyframes, verdict and a guess at the failure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from physplan.runs import layout
from physplan_bench.failures.runs import describe_run
from physplan_bench.records import Record


def add_run(record: Record, videos: Path) -> Record:
    """Runs lie in `<videos>.cases/cases/<scene>-<key>/run`, as `evaluate ... --generate` leaves them."""
    work = videos.with_name(f"{videos.name}.cases") / "cases"
    runs = sorted(path for path in work.glob(f"{record.scene}-*/run") if path.is_dir())
    if len(runs) != 1:  # none, or several settings: which made the video is unknown
        return record
    found = describe_run(runs[0])
    verdict = layout.load_verdict(runs[0]).verdict if (runs[0] / layout.VERDICT).is_file() else ""
    guess = found.get("guess")
    return replace(
        record,
        plan=tuple(found.get("events", ())),
        keyframes=tuple(str(path) for path in found["keyframes"]),
        verdict=verdict,
        failure=guess.stage if guess and guess.stage else "",
    )


def of_run(run: Path, *, scene: str, score: float, good: bool, verdict: str, values: Any) -> Record:
    """A record of a run folder alone, with its own method, seed, sentence and files."""
    about, found = layout.require_run(run), describe_run(run)
    return Record(
        scene=scene,
        method=about.method,
        seed=about.seed,
        score=score,
        good=good,
        verdict=verdict,
        prompt=about.prompt,
        plan=tuple(found.get("events", ())),
        keyframes=tuple(str(path) for path in found["keyframes"]),
        video=str(run / layout.VIDEO) if (run / layout.VIDEO).is_file() else "",
        values=values,
    )
