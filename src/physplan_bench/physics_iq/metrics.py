"""The four metrics of Physics-IQ between two videos and their motion masks. Pure functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Where and when (spatiotemporal), where (spatial), where and how much (weighted), and what (MSE)."""

    spatiotemporal: float
    spatial: float
    weighted_spatial: float
    mse: float


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two videos compared: two of the metrics frame by frame (T values each), two over the whole video."""

    spatiotemporal: tuple[float, ...]
    spatial: float
    weighted_spatial: float
    mse: tuple[float, ...]

    def metrics(self, *, official_rounding: bool = False) -> Metrics:
        """Means over frames. `official_rounding` keeps four decimals of each frame, as its CSV files do."""
        frames = np.array([self.spatiotemporal, self.mse])
        iou_mean, mse_mean = (frames.round(4) if official_rounding else frames).mean(axis=1)
        return Metrics(
            spatiotemporal=float(iou_mean),
            spatial=self.spatial,
            weighted_spatial=self.weighted_spatial,
            mse=float(mse_mean),
        )


NAMES = ("spatiotemporal", "spatial", "weighted_spatial", "mse")


def compare(
    video: np.ndarray,  # (T, H, W, 3) uint8
    masks: np.ndarray,  # (T, H, W) bool, or (T, H, W, C) with C of 1 or 3
    other: np.ndarray,
    other_masks: np.ndarray,
    *,
    official_rounding: bool = False,
) -> Metrics:
    """All four metrics, means over frames."""
    return compare_frames(video, masks, other, other_masks).metrics(official_rounding=official_rounding)


def compare_frames(
    video: np.ndarray, masks: np.ndarray, other: np.ndarray, other_masks: np.ndarray
) -> Comparison:
    """The same frame by frame; shapes as in `compare`."""
    if video.shape != other.shape:
        raise ValueError(f"videos of shapes {video.shape} and {other.shape} cannot be compared")
    return Comparison(
        spatiotemporal=tuple(spatiotemporal_iou(masks, other_masks).tolist()),
        spatial=spatial_iou(masks, other_masks),
        weighted_spatial=weighted_spatial_iou(masks, other_masks),
        mse=tuple(mse(video, other).tolist()),
    )


def spatiotemporal_iou(masks: np.ndarray, other: np.ndarray) -> np.ndarray:
    """IoU of each frame (T,); 1 where nothing moves in either."""
    return np.array([iou(a, b) for a, b in zip(masks, other, strict=True)])


def spatial_iou(masks: np.ndarray, other: np.ndarray) -> float:
    """IoU of the places where something moves at any time."""
    return iou(masks.max(axis=0), other.max(axis=0))


def weighted_spatial_iou(masks: np.ndarray, other: np.ndarray) -> float:
    """Minima over maxima of the share of time in which each pixel moves."""
    amount, other_amount = masks.mean(axis=0), other.mean(axis=0)
    union = float(np.maximum(amount, other_amount).sum())
    return float(np.minimum(amount, other_amount).sum()) / union if union else 1.0


def mse(video: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Mean squared error of each frame (T,), colours in [0, 1]."""
    return np.array(
        [
            np.mean((a.astype(np.float32) / 255 - b.astype(np.float32) / 255) ** 2, dtype=np.float64)
            for a, b in zip(video, other, strict=True)
        ]
    )


def iou(mask: np.ndarray, other: np.ndarray) -> float:
    union = int(np.logical_or(mask, other).sum())
    return int(np.logical_and(mask, other).sum()) / union if union else 1.0


def mean_metrics(metrics: Sequence[Metrics]) -> Metrics:
    means = np.mean([astuple(metric) for metric in metrics], axis=0)
    return Metrics(**dict(zip(NAMES, map(float, means), strict=True)))
