"""Physics-IQ: where, when and how much things move, compared with real takes."""

from physplan_bench.physics_iq.masks import motion_masks
from physplan_bench.physics_iq.metrics import Metrics, compare, mean_metrics
from physplan_bench.physics_iq.score import clipped, physics_iq_score, verified_score

__all__ = [
    "Metrics", "clipped", "compare", "mean_metrics", "motion_masks", "physics_iq_score", "verified_score",
]  # fmt: skip
