"""Grounded Physical State Reasoning (section 3.1): from a picture and a sentence to a verified plan."""

from physplan.reasoning.planner import PlanningFailed, PlanSettings, plan
from physplan.reasoning.protocol import (
    BadAnswer,
    Feedback,
    KeyframeTask,
    Reasoner,
    Revision,
    Scene,
    Translation,
)
from physplan.reasoning.record import PlanRecord, Step
from physplan.reasoning.registry import make_reasoner

__all__ = [
    "BadAnswer", "Feedback", "KeyframeTask", "PlanRecord", "PlanSettings", "PlanningFailed", "Reasoner",
    "Revision", "Scene", "Step", "Translation", "make_reasoner", "plan",
]  # fmt: skip
