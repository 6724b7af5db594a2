"""Seeded noise that tiles, and reading it at moving coordinates."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cv2
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
TILE_SIDE = 256


@lru_cache(maxsize=64)  # a large fire has some thirty
def clouds(seed: int, slope: float = 1.6) -> Array:
    """[256, 256] in [0, 1], tiling: white noise with a spectrum that falls with the power `slope`."""
    random = np.random.default_rng(seed)
    spectrum = np.fft.fft2(random.normal(size=(TILE_SIDE, TILE_SIDE)))
    across = np.fft.fftfreq(TILE_SIDE)
    frequency = np.hypot(across[:, None], across[None])
    frequency[0, 0] = 1
    values = np.fft.ifft2(spectrum / frequency**slope).real
    ranks = values.ravel().argsort().argsort().reshape(values.shape)
    return (ranks / ranks.max()).astype(np.float32)


def read(noise: Array, x: Array, y: Array) -> Array:
    """Noise at coordinates in tiles, wrapped."""
    return cv2.remap(
        noise,
        np.mod(x * TILE_SIDE, TILE_SIDE).astype(np.float32),
        np.mod(y * TILE_SIDE, TILE_SIDE).astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_WRAP,
    )


def fitted(seed: int, size: tuple[int, int], grain: float = 1.0, slope: float = 1.6) -> Array:
    """Clouds [h, w]; `grain` tiles lie across the larger side."""
    height, width = size
    side = max(height, width)
    ys, xs = np.mgrid[0:height, 0:width].astype(np.float32)
    return read(clouds(seed, slope), xs * grain / side, ys * grain / side)
