"""The method measured in the small world, where the truth is known: scenes x methods x seeds."""

from physplan.evaluation.sandbox.arms import ABLATION_ARMS, MAIN_ARMS, Arm
from physplan.evaluation.sandbox.benchmark import SandboxStudy

__all__ = ["ABLATION_ARMS", "MAIN_ARMS", "Arm", "SandboxStudy"]
