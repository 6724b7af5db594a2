"""Our verdict on other models' public videos against PhyGround's human ratings.

A plan is made once per prompt and shared by all models' videos; the verdict's score is then compared with the
human means. Scenes of Physics-IQ are measured apart and never used for fitting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from physplan_bench.phyground.aggregate import VideoScores
from physplan_bench.phyground.dataset import Prompt
from physplan_bench.sandbox.verdicts import area_under_curve

GOOD_RATING = 4.0  # a human mean from here on counts as physically right


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One video: our verdict and what people said of it."""

    model: str
    prompt: Prompt
    verdict: str  # holds, doubtful, fails, not checked
    score: float
    human: VideoScores


def compare(judged: Sequence[Judged]) -> dict[str, Any]:
    """Correlation, AUC, precision and recall of "holds": over all laws, then law by law."""
    fitted = [one for one in judged if not one.prompt.from_physics_iq]
    laws = sorted({law for one in fitted for law in one.human.laws})
    return {
        "videos": len(fitted),
        "left_out": sorted({one.prompt.video for one in judged if one.prompt.from_physics_iq}),
        "all": agreement(fitted, {id(one): one.human.laws_mean for one in fitted}),
        "laws": {
            law: agreement(fitted, {id(one): one.human.laws.get(law) for one in fitted}) for law in laws
        },
    }


def agreement(judged: Sequence[Judged], human: Mapping[int, float | None]) -> dict[str, float | int | None]:
    """Of those with a human score and a verdict; None where too few or all alike."""
    pairs = [
        (one, mean) for one in judged if (mean := human[id(one)]) is not None and one.verdict != "not checked"
    ]
    scores = np.array([one.score for one, _ in pairs])
    means = np.array([mean for _, mean in pairs])
    good = means >= GOOD_RATING
    holds = np.array([one.verdict == "holds" for one, _ in pairs], dtype=bool)
    return {
        "videos": len(pairs),
        "spearman": _spearman(scores, means),
        "auc": auc(scores, good),
        "precision": float(good[holds].mean()) if holds.any() else None,
        "recall": float(holds[good].mean()) if good.any() else None,
    }


def auc(scores: np.ndarray, good: np.ndarray) -> float | None:
    """The chance that a good video scores above a bad one; ties count half."""
    found = area_under_curve(scores, good)
    return None if np.isnan(found) else found


def best_limit(judged: Sequence[Judged]) -> float | None:
    """The score from which on calling a video right errs least (Youden's J), without Physics-IQ's."""
    usable = [
        (one.score, mean >= GOOD_RATING)
        for one in judged
        if not one.prompt.from_physics_iq and (mean := one.human.laws_mean) is not None
    ]
    good = np.array([right for _, right in usable], dtype=bool)
    if not good.any() or good.all():
        return None
    scores = np.array([score for score, _ in usable])
    limits = np.unique(scores)
    gains = [(scores[good] >= limit).mean() - (scores[~good] >= limit).mean() for limit in limits]
    return float(limits[int(np.argmax(gains))])


def _spearman(a: np.ndarray, b: np.ndarray) -> float | None:
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(stats.spearmanr(a, b).statistic)
