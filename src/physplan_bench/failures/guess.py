"""A first guess at the stage that failed, from what the run measured itself. A pure function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MAX_DRIFT = 0.03  # a keyframe that changes this much elsewhere was redrawn, not edited
UNFOLLOWED_SHARE = 0.6  # a term that keeps this share of its first value was not followed


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """What a run knows about itself."""

    rejected_edit_sets: int = 0  # rejected after all retries, so that planning failed
    regenerated_deltas: int = 0
    keyframe_drift: Sequence[float] = ()  # per keyframe: the share of what no edit names that changed
    keyframe_faults: Sequence[str] = ()  # what its check found
    objects_not_found: Sequence[str] = ()
    terms: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # first and last value of each
    unmeasured_terms: Sequence[str] = ()  # that never had anything to measure


@dataclass(frozen=True, kw_only=True)
class Guess:
    stage: str
    reason: str


def first_guess(run: Measurements) -> Guess:
    """The first stage, in the order of the pipeline, whose own measurements are off."""
    if run.rejected_edit_sets:
        return Guess(stage="Edits", reason=f"{run.rejected_edit_sets} edit sets rejected after all retries")
    if run.keyframe_faults:
        return Guess(stage="Keyframe", reason=f"keyframe check: {'; '.join(run.keyframe_faults)}")
    if run.keyframe_drift and max(run.keyframe_drift) > MAX_DRIFT:
        return Guess(
            stage="Keyframe",
            reason=f"a keyframe changes by {max(run.keyframe_drift):.2f} outside the edited objects",
        )
    if run.objects_not_found:
        return Guess(stage="Localization", reason="; ".join(run.objects_not_found))
    if run.unmeasured_terms:
        return Guess(stage="Localization", reason=f"never measured: {', '.join(run.unmeasured_terms)}")
    high = [name for name, (first, last) in run.terms.items() if last > UNFOLLOWED_SHARE * first > 0]
    if high:
        return Guess(stage="Guidance", reason=f"still high at the end: {', '.join(high)}")
    if run.regenerated_deltas:
        return Guess(
            stage="Reasoning",
            reason=f"{run.regenerated_deltas} deltas had to be made anew; all else is in order",
        )
    return Guess(stage="Reasoning", reason="the video follows its plan, so the plan itself is suspect")
