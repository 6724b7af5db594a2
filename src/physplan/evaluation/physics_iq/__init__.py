"""Physics-IQ: does what moves, move where, when and as much as in the real take?"""

from physplan.evaluation.physics_iq.masks import motion_masks
from physplan.evaluation.physics_iq.metrics import Metrics, compare, mean_metrics
from physplan.evaluation.physics_iq.score import clipped, physics_iq_score, verified_score

__all__ = [
    "Metrics",
    "clipped",
    "compare",
    "mean_metrics",
    "motion_masks",
    "physics_iq_score",
    "verified_score",
]
