"""The study's statistics: pure functions of arrays."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.bootstrap import MIN_CLUSTERS, Interval, clopper_pearson

RESAMPLES = 2000


def wilson(wins: int, votes: int, *, level: float = 0.95) -> Interval:
    """A share with Wilson's score interval, as if votes were independent."""
    if votes == 0:
        raise PhysPlanError("There is no vote to count.")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = wins / votes
    middle = (share + z * z / (2 * votes)) / (1 + z * z / votes)
    half = z / (1 + z * z / votes) * math.sqrt(share * (1 - share) / votes + z * z / (4 * votes * votes))
    return Interval(value=share, low=max(middle - half, 0.0), high=min(middle + half, 1.0))


def binomial_p(wins: int, votes: int) -> float:
    """How often an even coin is at least this far from one half; exact, two-sided."""
    tail = sum(math.comb(votes, i) for i in range(min(wins, votes - wins) + 1))
    return min(2 * tail / (1 << votes), 1.0)


def crossed_weights(people: int, prompts: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """How often each participant and each prompt is drawn, (resamples, n): both are resampled."""
    rng = np.random.default_rng(seed)
    shares = (np.full(n, 1 / n) for n in (people, prompts))
    rows, columns = (rng.multinomial(len(share), share, size=RESAMPLES) for share in shares)
    return rows.astype(float), columns.astype(float)


def crossed_bootstrap(wins: np.ndarray, votes: np.ndarray, *, seed: int = 0, level: float = 0.95) -> Interval:
    """A share of votes, (participants, prompts) each, with an interval over participants and prompts.

    Votes of one person, and votes on one prompt, are no independent evidence. With fewer than `MIN_CLUSTERS`
    people or prompts, or where no resample differs, the interval is exact, of as many trials as there are
    people or prompts, whichever is less.
    """
    value, groups = float(wins.sum() / votes.sum()), min(int((votes.sum(axis) > 0).sum()) for axis in (0, 1))
    if groups < MIN_CLUSTERS:
        return clopper_pearson(value, groups, level=level)
    people, prompts = crossed_weights(*wins.shape, seed=seed)
    top = np.einsum("rp,pq,rq->r", people, wins, prompts, optimize=True)
    bottom = np.einsum("rp,pq,rq->r", people, votes, prompts, optimize=True)
    shares = top[bottom > 0] / bottom[bottom > 0]
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2])
    found = Interval.of(value, float(low), float(high))
    return found if found.bounds else clopper_pearson(value, groups, level=level)


def krippendorff_alpha(counts: np.ndarray) -> float | None:
    """Agreement on nominal values: 1 - D_observed / D_expected. `counts[u, v]`: raters of unit u who said v.

    None where nothing could disagree: no unit with two ratings, or one value only.
    """
    counts = counts[counts.sum(1) >= 2].astype(float)
    rated = counts.sum(1)
    total = rated.sum()
    if total == 0:
        return None
    observed = float(((rated**2 - (counts**2).sum(1)) / (rated - 1)).sum() / total)
    values = counts.sum(0)
    expected = float((total**2 - (values**2).sum()) / (total * (total - 1)))
    return None if expected == 0 else 1 - observed / expected


def bradley_terry(wins: np.ndarray, *, prior: float = 0.0, rounds: int = 100) -> np.ndarray:
    """Log-strengths s with mean 0: i beats j with probability 1 / (1 + exp(s_j - s_i)). Newton's method.

    `wins[..., i, j]`: how often i was chosen over j; leading axes are independent problems. `prior` votes
    each way between all who met keep the scores finite where one always won.
    """
    met = (wins + wins.swapaxes(-1, -2)).reshape(-1, *wins.shape[-2:]).sum(0) > 0
    wins = wins + prior * met
    games = wins + wins.swapaxes(-1, -2)
    score = np.zeros(wins.shape[:-1])
    for _ in range(rounds):
        expected = 1 / (1 + np.exp(score[..., None, :] - score[..., :, None]))
        slope = (wins - games * expected).sum(-1)
        spread = games * expected * (1 - expected)
        # The sum of all scores is free: the ones hold it at 0.
        curve = np.eye(wins.shape[-1]) * spread.sum(-1, keepdims=True) - spread + 1.0
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        score += np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-10:
            break
    return np.asarray(score - score.mean(-1, keepdims=True))
