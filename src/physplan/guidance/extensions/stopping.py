"""Ending a step's repeats early: which events have a term left to satisfy."""

from __future__ import annotations

from physplan.guidance.config import MeasureConfig
from physplan.guidance.gradients.direction import Direction


def still_unsatisfied(events: set[int], found: Direction, measure: MeasureConfig) -> set[int]:
    """The events that have a term to satisfy, or were not looked at since the step began."""
    known = [term for term in found.terms if term.value is not None]
    wanting = {term.event for term in known if (term.value or 0.0) > measure.limit(term.term)}
    return (events - set(found.previews)) | wanting
