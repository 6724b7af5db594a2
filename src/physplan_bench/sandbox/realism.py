"""How real a video looks, whatever happens in it: flicker, edges, and the features of a clip.

Pure functions of arrays. A video is [T, H, W, 3] uint8; feature maps are [T, C, h, w].
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from physplan_bench.bootstrap import MIN_CLUSTERS, Interval
from physplan_bench.frechet.distance import Gaussian, fit, frechet_distance

FEATURE_DIMENSIONS = 32  # of a projected clip: a study has more videos than that
Z_95 = 1.96  # standard errors on either side: 95 %


def flicker(video: np.ndarray) -> float:
    """Mean |x[t+1] - 2 x[t] + x[t-1]|: what stands still or changes evenly has none."""
    x = video.astype(np.float64) / 255
    return float(np.abs(x[2:] - 2 * x[1:-1] + x[:-2]).mean())


def edge_energy(video: np.ndarray, where: np.ndarray) -> float:
    """Mean length of the brightness gradient in all frames but the first, over the pixels `where` [H, W]."""
    x = video.astype(np.float64).mean(axis=-1) / 255
    down, across = np.gradient(x[1:], axis=(1, 2))
    return float(np.hypot(down, across)[:, where].mean())


def busy_pixels(video: np.ndarray, least: float = 0.1) -> np.ndarray:
    """Where something happens in a (true) video: bool [H, W]; everywhere, if nothing does."""
    x = video.astype(np.float64) / 255
    found = np.asarray(np.abs(x - x[:1]).max(axis=(0, 3)) > least)
    return found if found.any() else np.ones_like(found)


def clip_features(maps: np.ndarray) -> dict[str, np.ndarray]:
    """Two vectors [C] of a clip: how it looks (mean over time and place), and how it moves (mean size of
    the step from frame to frame)."""
    maps = np.asarray(maps, np.float64)
    steps = np.abs(np.diff(maps, axis=0))
    return {"look": maps.mean(axis=(0, 2, 3)), "step": steps.mean(axis=(0, 2, 3))}


Clips = Sequence[Mapping[str, Sequence[float]]]  # the features of each clip, by part


def frechet_to_truth(clips: Clips, true: Clips, scenes: Sequence[Hashable]) -> Interval:
    """100 times the Frechet distance, in units of what true clips vary by; look and motion count alike.

    0: no difference; 100: off by as much as true videos differ among themselves. Parts are scaled by the
    truth's own spread and thrown onto a few fixed directions, because a covariance needs more clips than
    dimensions. Directions are random, not the truth's main ones: what no true video does must show as well.
    The interval is the jackknife's over scenes: resampling with replacement would bias the distance.
    """
    scale = {part: _spread(np.array([clip[part] for clip in true])) for part in true[0]}
    reference = fit(_projected(true, scale))
    rows = _projected(clips, scale)
    value = 100 * frechet_distance(fit(rows), reference)
    parts = _all_but_one(scenes)
    if len(parts) < MIN_CLUSTERS:
        return Interval(value=value, low=None, high=None)
    left_out = [100 * _distance(rows[kept], reference) for kept in parts]
    error = Z_95 * jackknife_error(np.array(left_out))
    return Interval.of(value, max(value - error, 0.0), value + error)


def jackknife_error(left_out: np.ndarray) -> float:
    """Standard error from n values, each computed without one of n groups."""
    n = len(left_out)
    return float(np.sqrt((n - 1) / n * np.square(left_out - left_out.mean()).sum()))


def _distance(rows: np.ndarray, reference: Gaussian) -> float:
    return frechet_distance(fit(rows), reference)


def _spread(values: np.ndarray) -> float:
    """Root of the total variance of vectors [n, C]."""
    return float(np.sqrt(np.maximum(values.var(axis=0).sum(), 1e-12)))


def _projected(clips: Clips, scale: Mapping[str, float]) -> np.ndarray:
    rows = np.array([np.concatenate([np.array(c[part]) / s for part, s in scale.items()]) for c in clips])
    width = rows.shape[1]
    if width <= FEATURE_DIMENSIONS:
        return rows
    drawn = np.random.default_rng(0).normal(size=(width, FEATURE_DIMENSIONS))
    directions: np.ndarray = np.linalg.qr(drawn)[0] * np.sqrt(width / FEATURE_DIMENSIONS)
    return np.asarray(rows @ directions)


def _all_but_one(scenes: Sequence[Hashable]) -> list[np.ndarray]:
    numbers = np.array([list(dict.fromkeys(scenes)).index(scene) for scene in scenes])
    return [np.flatnonzero(numbers != k) for k in range(numbers.max() + 1)]
