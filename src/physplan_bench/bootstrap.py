"""Bootstrap intervals over clusters: seeds and views of one scene are no independent evidence."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError

MIN_CLUSTERS = 5  # clusters; fewer cannot carry a percentile of 2.5 %
NO_WIDTH = 1e-9  # of the larger bound: rounding, not an interval


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its interval; no bounds where there is too little to tell how far it may be off."""

    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, value: float, low: float, high: float) -> Interval:
        """Without bounds where these are equal: resamples that never differ say nothing about the error."""
        known = _apart(low, high)
        return cls(value=value, low=float(low) if known else None, high=float(high) if known else None)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Low and high; None for a stored result of zero width as well."""
        if self.low is None or self.high is None or not _apart(self.low, self.high):
            return None
        return self.low, self.high

    def scaled(self, factor: float) -> Interval:
        low, high = self.bounds or (None, None)
        return Interval(
            value=factor * self.value,
            low=None if low is None else factor * low,
            high=None if high is None else factor * high,
        )


def _apart(low: float, high: float) -> bool:
    return bool(np.isfinite([low, high]).all() and high - low > NO_WIDTH * max(abs(low), abs(high)))


def clopper_pearson(share: float, count: float, *, level: float = 0.95) -> Interval:
    """The exact interval of a share of `count` independent trials, which need not be whole."""
    from scipy.stats import beta

    wins, tail = share * count, (1 - level) / 2
    low = 0.0 if wins <= 0 else float(beta.ppf(tail, wins, count - wins + 1))
    high = 1.0 if wins >= count else float(beta.ppf(1 - tail, wins + 1, count - wins))
    return Interval(value=share, low=low, high=high)


def row_mean(rows: np.ndarray) -> float:
    return float(rows.mean())


def cluster_bootstrap(
    rows: np.ndarray,  # (n,) or (n, ...): one row per observation
    clusters: Sequence[Hashable],  # n names, for example the scene of each row
    *,
    statistic: Callable[[np.ndarray], float] = row_mean,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    share_of: float | None = None,  # rows lie between 0 and this: 1, or 100 for per cent
    kinds: Sequence[np.ndarray] = (),  # masks (n,): the statistic compares these rows with the others
) -> Interval:
    """Resample whole clusters with replacement, and take the percentiles of the statistic of their rows.

    Where a resample has none (nan, as the precision of nothing) it is left out. Fewer than `MIN_CLUSTERS`
    clusters, with any of `kinds` too, or resamples that never differ, give no bounds; of a share, the exact
    interval over clusters.
    """
    rows = np.asarray(rows)
    members = _members(clusters, len(rows))
    found = Interval(value=float(statistic(rows)), low=None, high=None)
    carrying = [sum(bool(kind[rows_of].any()) for rows_of in members) for kind in kinds]
    if min([len(members), *carrying]) >= MIN_CLUSTERS:
        found = _percentiles(rows, members, statistic, resamples=resamples, level=level, seed=seed)
    if found.bounds is None and share_of is not None:
        return clopper_pearson(found.value / share_of, len(members), level=level).scaled(share_of)
    return found


def _percentiles(
    rows: np.ndarray,
    members: Sequence[np.ndarray],
    statistic: Callable[[np.ndarray], float],
    *,
    resamples: int,
    level: float,
    seed: int,
) -> Interval:
    rng = np.random.default_rng(seed)
    draws = rng.integers(len(members), size=(resamples, len(members)))
    values = [statistic(rows[np.concatenate([members[i] for i in draw])]) for draw in draws]
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval.of(float(statistic(rows)), float(low), float(high))


def percentage(good: Sequence[float] | np.ndarray, clusters: Sequence[Hashable]) -> dict[str, Any]:
    """The share of what is true, in per cent with its interval, as JSON."""
    return asdict(cluster_bootstrap(100.0 * np.array(good, dtype=float), clusters, share_of=100))


def paired_difference(
    rows: np.ndarray, baseline: np.ndarray, clusters: Sequence[Hashable], **options: float
) -> Interval:
    """The mean of `rows - baseline`, pair by pair: both methods saw the same scenes and seeds."""
    if np.shape(rows) != np.shape(baseline):
        raise PhysPlanError("Two methods can be compared pair by pair only on the same scenes and seeds.")
    return cluster_bootstrap(np.asarray(rows) - np.asarray(baseline), clusters, **options)  # type: ignore[arg-type]


def _members(clusters: Sequence[Hashable], count: int) -> list[np.ndarray]:
    if len(clusters) != count:
        raise PhysPlanError(f"{count} observations need as many cluster names, not {len(clusters)}.")
    if count == 0:
        raise PhysPlanError("There is no observation to estimate anything from.")
    groups: dict[Hashable, list[int]] = {}
    for index, cluster in enumerate(clusters):
        groups.setdefault(cluster, []).append(index)
    return [np.array(indices) for indices in groups.values()]
