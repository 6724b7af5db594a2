"""Appendix C: the first stage that failed in the lowest-scored videos, by two raters and by a heuristic."""

STAGES = ("Reasoning", "Edits", "Keyframe", "Localization", "Guidance")
