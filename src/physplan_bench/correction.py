"""Prediction-powered means: many judge scores, corrected by a few human labels. Pure functions.

With labels y and scores f on n labelled videos, and scores F on the N others:
    estimate = w mean(F) + mean(y - w f),   variance = w^2 var(F) / N + var(y - w f) / n
w = 1 is prediction-powered inference (Angelopoulos et al. 2023), w = 0 the labels alone. The PPI++ weight
w = cov(y, f) / ((1 + n / N) var(f)) minimises the variance, so a poor judge is not trusted more than it
deserves. Clusters (scenes) count as one observation each.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

from physplan.errors import PhysPlanError
from physplan_bench.bootstrap import MIN_CLUSTERS, Interval


@dataclass(frozen=True, kw_only=True)
class Corrected:
    estimate: Interval
    judge_only: float  # mean of all scores, uncorrected
    labels_only: Interval
    weight: float  # of the judge, 0 to 1
    bias: float  # mean of score - label where both are known
    labelled: int  # independent scenes
    unlabelled: int


def correct(
    labels: np.ndarray,
    scores: np.ndarray,
    others: np.ndarray,
    *,
    weight: float | None = None,
    level: float = 0.95,
) -> Corrected:
    """`labels` and `scores` of the same n videos, `others`: scores of N videos without a label."""
    y, f, rest = (np.asarray(values, dtype=float) for values in (labels, scores, others))
    n, many = len(y), len(rest)
    if n != len(f):
        raise PhysPlanError(f"{n} labels need as many judge scores, not {len(f)}.")
    if n < MIN_CLUSTERS:
        raise PhysPlanError(
            f"{n} labelled scenes are too few for an interval: label at least {MIN_CLUSTERS}."
        )
    w = best_weight(y, f, rest) if weight is None else weight
    value = float(w * rest.mean() + (y - w * f).mean()) if many else float(y.mean())
    left_over = (y - w * f).var(ddof=1) / n if many else y.var(ddof=1) / n
    spread = w**2 * rest.var(ddof=1) / many if many > 1 else 0.0
    return Corrected(
        estimate=_interval(value, math.sqrt(left_over + spread), n, level),
        judge_only=float(np.concatenate([f, rest]).mean()),
        labels_only=_interval(float(y.mean()), float(y.std(ddof=1)) / math.sqrt(n), n, level),
        weight=float(w) if many else 0.0,
        bias=float((f - y).mean()),
        labelled=n,
        unlabelled=many,
    )


def best_weight(y: np.ndarray, f: np.ndarray, others: np.ndarray) -> float:
    """PPI++'s, kept between 0 and 1; the variance of the scores is that of all of them."""
    if len(others) < 2:
        return 0.0
    variance = np.concatenate([f, others]).var(ddof=1)
    if variance == 0:
        return 0.0
    return float(np.clip(np.cov(y, f)[0, 1] / ((1 + len(y) / len(others)) * variance), 0, 1))


def _interval(value: float, error: float, n: int, level: float) -> Interval:
    """Student's t over the labelled scenes, which are the few."""
    half = float(t.ppf((1 + level) / 2, n - 1)) * error
    return Interval.of(value, value - half, value + half)


def by_cluster(values: Sequence[float], clusters: Sequence[Hashable]) -> dict[Hashable, float]:
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    return {cluster: float(np.mean(found)) for cluster, found in groups.items()}


@dataclass(frozen=True, kw_only=True)
class Power:
    """How many scenes show a paired difference with the given power."""

    difference: float
    between: float  # standard deviation of the true differences of scenes
    within: float  # standard deviation between seeds of one scene
    scenes: dict[int, int | None]  # by seeds per scene; None where no difference varies
    detectable: float | None  # with the scenes and seeds at hand
    scenes_at_hand: int
    seeds_at_hand: float


def needed(
    differences: np.ndarray,
    clusters: Sequence[Hashable],
    difference: float,
    *,
    power: float = 0.8,
    level: float = 0.95,
    seeds: Sequence[int] = (1, 2, 3, 5),
) -> Power:
    """Normal approximation: scenes = (z_level + z_power)^2 (between^2 + within^2 / seeds) / difference^2."""
    if difference <= 0:
        raise PhysPlanError(f"A difference of {difference:g} cannot be planned for: give one above 0.")
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(np.asarray(differences, dtype=float), clusters, strict=True):
        groups.setdefault(cluster, []).append(float(value))
    if len(groups) < MIN_CLUSTERS:
        raise PhysPlanError(
            f"{len(groups)} scenes are too few to estimate a spread: {MIN_CLUSTERS} are needed."
        )
    sizes = [len(values) for values in groups.values()]
    repeated = [values for values in groups.values() if len(values) > 1]
    free = sum(len(values) - 1 for values in repeated)
    within = sum(float(np.var(values)) * len(values) for values in repeated) / free if free else 0.0
    of_means = float(np.var([np.mean(values) for values in groups.values()], ddof=1))
    mean_size = len(sizes) / sum(1 / size for size in sizes)
    between = max(of_means - within / mean_size, 0.0)
    still = between + within == 0  # equal differences say nothing of their spread
    factor = (norm.ppf((1 + level) / 2) + norm.ppf(power)) ** 2
    return Power(
        difference=difference,
        between=math.sqrt(between),
        within=math.sqrt(within),
        scenes={
            k: None
            if still
            else max(math.ceil(factor * (between + within / k) / difference**2), MIN_CLUSTERS)
            for k in seeds
        },
        detectable=None if still else math.sqrt(factor * (between + within / mean_size) / len(groups)),
        scenes_at_hand=len(groups),
        seeds_at_hand=float(np.mean(sizes)),
    )
