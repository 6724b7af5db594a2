"""The models that look at a finished video."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from physplan.perception import DepthEstimator, FeatureEncoder, Segmenter


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Perception:
    segmenter: Segmenter
    depth: DepthEstimator
    encoder: FeatureEncoder


class PerceptionSource(Protocol):
    """Each is asked for when it is needed: with keyframes nothing may be segmented."""

    @property
    def segmenter(self) -> Segmenter: ...
    @property
    def depth(self) -> DepthEstimator: ...
    @property
    def encoder(self) -> FeatureEncoder: ...
