"""The verification against the simulator's judge: how often a score ranks right, what "holds" is worth."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.stats import rankdata

from physplan_bench.bootstrap import cluster_bootstrap


def area_under_curve(scores: np.ndarray, right: np.ndarray) -> float:
    """The chance that a right video has a higher score than a wrong one; ties count half."""
    right = np.asarray(right, dtype=bool)
    good, bad = int(right.sum()), int((~right).sum())
    if not good or not bad:
        return float("nan")
    above = rankdata(scores)[right].sum() - good * (good + 1) / 2
    return float(above / (good * bad))


def precision(holds: np.ndarray, right: np.ndarray) -> float:
    return float(right[holds].mean()) if holds.any() else float("nan")


def recall(holds: np.ndarray, right: np.ndarray) -> float:
    return float(holds[right].mean()) if right.any() else float("nan")


def against_judge(
    scores: Sequence[float],
    holds: Sequence[bool],
    right: Sequence[bool],
    scenes: Sequence[Hashable],
    *,
    resamples: int = 2000,
) -> dict[str, Any]:
    """Each figure with its 95 % interval over scenes, or None where there are no videos of both kinds."""
    rows = np.stack([np.array(scores, float), np.array(holds, float), np.array(right, float)], axis=1)
    measures: dict[str, Callable[[np.ndarray], float]] = {
        "area_under_curve": lambda r: area_under_curve(r[:, 0], r[:, 2] > 0),
        "precision": lambda r: precision(r[:, 1] > 0, r[:, 2] > 0),
        "recall": lambda r: recall(r[:, 1] > 0, r[:, 2] > 0),
    }
    found: dict[str, Any] = {"videos": len(rows), "right": float(rows[:, 2].mean())}
    for name, statistic in measures.items():
        known = not np.isnan(statistic(rows))
        found[name] = (
            asdict(cluster_bootstrap(rows, scenes, statistic=statistic, resamples=resamples))
            if known
            else None
        )
    return found
