"""The Frechet distance of two Gaussians, in float64, from eigenvalues. Pure functions of arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from physplan.errors import PhysPlanError


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Mean (D,), covariance (D, D) and the number of samples behind them."""

    mean: np.ndarray
    covariance: np.ndarray
    count: int


def fit(features: np.ndarray) -> Gaussian:  # (N, D)
    features = np.asarray(features, np.float64)
    if features.ndim != 2 or len(features) < 2:
        raise PhysPlanError("A Frechet distance needs the features of at least two samples on either side.")
    if not np.isfinite(features).all():
        raise PhysPlanError("Some features are not finite; check the extractor and its precision.")
    return Gaussian(
        mean=features.mean(axis=0), covariance=np.cov(features, rowvar=False), count=len(features)
    )


def frechet_distance(one: Gaussian, two: Gaussian) -> float:
    """|m1 - m2|^2 + tr C1 + tr C2 - 2 tr (C1 C2)^(1/2).

    The trace of the root is the sum of the roots of the eigenvalues of A C2 A with A = C1^(1/2). That matrix
    is symmetric and positive semidefinite: no root of a product is needed, and no imaginary part appears.
    """
    first, second = np.atleast_2d(one.covariance), np.atleast_2d(two.covariance)
    values, vectors = np.linalg.eigh(first)
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    product = np.linalg.eigvalsh(root @ second @ root)
    trace_root = np.sqrt(np.clip(product, 0, None)).sum()
    difference = one.mean - two.mean
    distance = difference @ difference + np.trace(first) + np.trace(second) - 2 * trace_root
    return float(max(distance, 0.0))


def size_warning(one: Gaussian, two: Gaussian) -> str | None:
    """A covariance of n <= d samples is singular: the distance is biased and not comparable."""
    count, dimension = min(one.count, two.count), len(one.mean)
    if count > dimension:
        return None
    return (
        f"Only {count} samples for {dimension} features (n <= d): the covariance is singular and the "
        "distance biased upwards; compare it only with distances of the same n and extractor."
    )
