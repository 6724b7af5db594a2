"""Bootstrap intervals over clusters: seeds and views of one scene are no independent evidence."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from physplan.errors import PhysPlanError


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its percentile interval."""

    value: float
    low: float
    high: float


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
) -> Interval:
    """Resample whole clusters with replacement, and take the percentiles of the statistic of their rows.

    Where a resample has none (nan, as the precision of nothing) it is left out.
    """
    rows = np.asarray(rows)
    members = _members(clusters, len(rows))
    rng = np.random.default_rng(seed)
    draws = rng.integers(len(members), size=(resamples, len(members)))
    values = [statistic(rows[np.concatenate([members[i] for i in draw])]) for draw in draws]
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value=float(statistic(rows)), low=float(low), high=float(high))


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
