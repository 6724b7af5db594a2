"""The three things PhysPlan asks of a picture. A backend is one class with one of these methods.

Images are float tensors in [0, 1], [3, H, W] alone or [B, 3, H, W] in a batch. Networks are frozen; the
encoder and the depth estimator let gradients through to the image, for the guidance (eqs. 4 and 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict

from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instance:
    """One object the segmenter found: `category` is one of those it was asked for."""

    category: str
    mask: Tensor  # bool [H, W]
    score: float


class Segmenter(Protocol):
    def segment(self, image: Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
        """All instances of all `categories` in one image [3, H, W]."""
        ...


class DepthEstimator(Protocol):
    def __call__(self, images: Tensor) -> Tensor:
        """Nearness [B, H, W] of images [B, 3, H, W]: larger is closer to the camera; any scale and offset."""
        ...


class FeatureEncoder(Protocol):
    def __call__(self, images: Tensor) -> Tensor:
        """The feature map [B, C, h, w] of images [B, 3, H, W] (F of eq. 4)."""
        ...


def normalise_depth(depth: Tensor) -> Tensor:
    """Each map of [..., H, W] scaled to [0, 1] by its own extremes (A.4); a flat map becomes 0."""
    low, high = depth.amin((-2, -1), keepdim=True), depth.amax((-2, -1), keepdim=True)
    return (depth - low) / (high - low).clamp_min(1e-6)


class PerceptionModels(TypedDict):
    """What looks at pictures, as keyword arguments."""

    segmenter: Segmenter
    depth: DepthEstimator
