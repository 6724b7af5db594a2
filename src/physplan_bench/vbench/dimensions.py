"""The dimensions as pure functions of frames and of what an extractor says about them. All in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

Video = np.ndarray  # (T, H, W, 3) uint8
DYNAMIC_FPS = 8
TOP_SHARE = 0.05


def temporal_flickering(video: Video) -> float:
    """(255 - mean absolute difference of neighbouring frames) / 255. Meant for static scenes."""
    differences = [np.abs(a.astype(np.float32) - b.astype(np.float32)).mean() for a, b in pairwise(video)]
    return float((255 - np.mean(differences)) / 255)


def consistency(features: np.ndarray) -> float:
    """Of (T, D) features: the mean, over all frames but the first, of the cosines to the previous and to the
    first frame, none below 0. With DINO it is subject consistency, with CLIP background consistency."""
    unit = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    previous = np.maximum((unit[1:] * unit[:-1]).sum(axis=1), 0)
    first = np.maximum(unit[1:] @ unit[0], 0)
    return float(((previous + first) / 2).mean())


def motion_smoothness(video: Video, interpolated: Sequence[np.ndarray]) -> float:
    """(255 - MAE) / 255 between the odd frames and their interpolation from the even ones around them."""
    errors = [
        np.abs(truth.astype(np.float32) - guess.astype(np.float32)).mean()
        for truth, guess in zip(video[1 : 2 * len(interpolated) : 2], interpolated, strict=True)
    ]
    return float((255 - np.mean(errors)) / 255)


def dynamic_frames(count: int, fps: float) -> list[int]:
    """About 8 frames a second."""
    return list(range(0, count, max(1, round(fps / DYNAMIC_FPS))))


def dynamic_degree(flows: Sequence[np.ndarray], *, size: tuple[int, int]) -> float:
    """1 when enough pairs of frames move: the fastest 5 % of the flow (H, W, 2) exceed 6 pixels at 256.

    `flows` are between the n sampled frames, so there are n - 1; round(4 n / 16) of them must move.
    """
    threshold = 6.0 * min(size) / 256
    needed = round(4 * (len(flows) + 1) / 16)
    return float(sum(fastest(flow) > threshold for flow in flows) >= needed)


def fastest(flow: np.ndarray) -> float:
    """The mean length of the longest 5 % of the flow vectors."""
    lengths = np.sort(np.linalg.norm(flow, axis=-1).ravel())
    count = max(int(len(lengths) * TOP_SHARE), 1)
    return float(lengths[-count:].mean())


def aesthetic_quality(scores: np.ndarray) -> float:
    """The mean over frames of the LAION head's scores, which run to 10."""
    return float(np.mean(scores) / 10)


def imaging_quality(scores: np.ndarray) -> float:
    """The mean over frames of MUSIQ's scores, which run to 100."""
    return float(np.mean(scores) / 100)
