"""A first guess at the stage that failed, from what the run measured itself. A pure function."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """What a run knows about itself. A run writes them as `measurements.json`, with these names."""

    rejected_edit_sets: int = 0  # rejected by the checks after all retries
    regenerated_deltas: int = 0
    keyframe_drift: Sequence[float] = ()  # per keyframe: mean change outside the edited regions, in [0, 1]
    keyframe_faults: Sequence[str] = ()  # objects that should be there or gone, and are not
    objects_not_found: Sequence[str] = ()
    terms: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # first and last value of each
    skipped_terms: int = 0  # not finite, or nothing to measure

    @classmethod
    def read(cls, path: Path) -> Measurements:
        try:
            content: dict[str, Any] = json.loads(path.read_text())
            unknown = set(content) - {f.name for f in fields(cls)}
            if unknown:
                raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
            terms = {name: (float(a), float(b)) for name, (a, b) in content.pop("terms", {}).items()}
            return cls(**content, terms=terms)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise PhysPlanError(f"{path} does not hold the measurements of a run ({error}).") from error


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    drift: float = 0.06  # a keyframe that changes this much elsewhere was drawn anew, not edited
    remaining: float = 0.6  # a term that keeps this share of its first value was not followed


@dataclass(frozen=True, kw_only=True)
class Guess:
    stage: str
    reason: str


def first_guess(run: Measurements, thresholds: Thresholds | None = None) -> Guess:
    """The first stage, in the order of the pipeline, whose own measurements are off."""
    limits = thresholds or Thresholds()
    if run.rejected_edit_sets:
        return Guess(stage="Edits", reason=f"{run.rejected_edit_sets} edit sets rejected after all retries")
    if run.keyframe_faults:
        return Guess(stage="Keyframe", reason=f"keyframe check: {'; '.join(run.keyframe_faults)}")
    if run.keyframe_drift and max(run.keyframe_drift) > limits.drift:
        return Guess(
            stage="Keyframe",
            reason=f"a keyframe changes by {max(run.keyframe_drift):.2f} outside the edited objects",
        )
    if run.objects_not_found:
        return Guess(stage="Localization", reason=f"not found: {', '.join(run.objects_not_found)}")
    if run.terms and run.skipped_terms > len(run.terms):
        return Guess(stage="Localization", reason=f"{run.skipped_terms} terms had nothing to measure")
    high = [name for name, (first, last) in run.terms.items() if last > limits.remaining * first > 0]
    if high:
        return Guess(stage="Guidance", reason=f"still high at the end: {', '.join(high)}")
    if run.regenerated_deltas:
        return Guess(
            stage="Reasoning",
            reason=f"{run.regenerated_deltas} deltas had to be made anew; all else is in order",
        )
    return Guess(stage="Reasoning", reason="the video follows its plan, so the plan itself is suspect")
