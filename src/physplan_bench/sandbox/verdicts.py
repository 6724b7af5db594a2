"""The verification against the simulator's judge: how often a score ranks right, what "holds" is worth."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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


def against_judge(
    scores: Sequence[float],
    holds: Sequence[bool],
    right: Sequence[bool],
    scenes: Sequence[Hashable],
    *,
    resamples: int = 2000,
) -> dict[str, Any]:
    """Each figure with its 95 % interval over scenes, or None where there are no videos of both kinds."""
    score, said, good = np.array(scores, float), np.array(holds, bool), np.array(right, bool)

    def share(of: np.ndarray, among: np.ndarray) -> dict[str, Any] | None:
        """Of the videos `among`, over the scenes that have one."""
        if not among.any():
            return None
        there = [scene for scene, one in zip(scenes, among, strict=True) if one]
        return asdict(cluster_bootstrap(of[among].astype(float), there, share_of=1, resamples=resamples))

    def area(rows: np.ndarray) -> float:
        return area_under_curve(rows[:, 0], rows[:, 1] > 0)

    both = np.stack([score, good], axis=1)
    return {
        "videos": len(good),
        "right": float(good.mean()),
        "area_under_curve": None
        if np.isnan(area(both))
        else asdict(
            cluster_bootstrap(both, scenes, statistic=area, resamples=resamples, kinds=(good, ~good))
        ),
        "precision": share(good, said),
        "recall": share(said, good),
    }
