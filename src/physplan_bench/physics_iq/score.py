"""The Physics-IQ score: the metrics, measured in units of what two real takes differ by.

`variance` is the same metric between take 1 and take 2, averaged over **all** videos. With that one global
variance the score is affine in a video's metrics, so scores per video average exactly to the overall score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.physics_iq.metrics import Metrics

EPS = 1e-8  # of the Verified ratios' denominators


def physics_iq_score(metrics: Metrics, variance: Metrics) -> float:
    """100 ((ST/V_ST + SP/V_SP + WS/V_WS) / 3 - (MSE - V_MSE)), not clipped."""
    _require_motion(variance)
    overlap = (
        metrics.spatiotemporal / variance.spatiotemporal
        + metrics.spatial / variance.spatial
        + metrics.weighted_spatial / variance.weighted_spatial
    ) / 3
    return 100 * (overlap - (metrics.mse - variance.mse))


def clipped(score: float) -> float:
    """The reported score: within [0, 100], two decimals."""
    return round(min(max(score, 0.0), 100.0), 2)


def verified_ratios(metrics: Metrics, variance: Metrics) -> Metrics:
    """Physics-IQ Verified, one video: each metric against the video's **own** takes, clipped to [0, 1].

    metric / (variance + 1e-8), and its inverse for the MSE: where the takes agree wholly (a variance of 0) an
    overlap of 0 counts 0, any other counts 1.
    """
    error = metrics.mse / (variance.mse + EPS)
    return Metrics(
        spatiotemporal=_ratio(metrics.spatiotemporal, variance.spatiotemporal),
        spatial=_ratio(metrics.spatial, variance.spatial),
        weighted_spatial=_ratio(metrics.weighted_spatial, variance.weighted_spatial),
        mse=min(1 / error, 1.0) if error else 1.0,
    )


def verified_score(metrics: Metrics, variance: Metrics) -> float:
    """100 times the mean of the four ratios; the benchmark's score is the mean over its videos."""
    return 100 * float(np.mean(astuple(verified_ratios(metrics, variance))))


def official_variance(variance: Metrics) -> Metrics:
    """Rounded as in the official code: five decimals for the spatial one, four for the others."""
    return Metrics(
        spatiotemporal=round(variance.spatiotemporal, 4),
        spatial=round(variance.spatial, 5),
        weighted_spatial=round(variance.weighted_spatial, 4),
        mse=round(variance.mse, 4),
    )


def variance_of_takes(variances: Sequence[Metrics]) -> float:
    """What the official code prints beside the score: the sum of the three overlaps less the MSE, a mean."""
    return float(np.mean([v.spatiotemporal + v.spatial + v.weighted_spatial - v.mse for v in variances]))


def _ratio(value: float, reference: float) -> float:
    return min(value / (reference + EPS), 1.0)


def _require_motion(variance: Metrics) -> None:
    if min(variance.spatiotemporal, variance.spatial, variance.weighted_spatial) <= 0:
        raise PhysPlanError(
            "The two takes of the real videos never overlap where they move, so there is nothing to measure "
            "against; check that take 1 and take 2 belong to the same scenes."
        )
