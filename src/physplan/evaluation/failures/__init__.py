"""Appendix C: which stage went wrong first in the lowest third of the videos; by two people, and a guess."""

STAGES = ("Reasoning", "Edits", "Keyframe", "Localization", "Guidance")
