"""How smoothly a video moves, without labels: the path of a frozen encoder's features from frame to frame.

What moves by itself moves steadily: its features take steps of like length in like directions. Jumps, flicker
and things that come and go show as long steps, sharp turns and large accelerations (the idea of GeoPhys,
arXiv 2606.20707; the formulas here are our own).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.perception.protocol import FeatureEncoder

MIN_MOTION = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothness:
    """Each is 0 for a video that stands still, and grows with what should not happen."""

    step: float  # the longest step between two frames over the median one, as a logarithm
    turn: float  # mean of 1 - cos between one step and the next, weighted by their lengths
    acceleration: float  # mean change of step over mean step

    @property
    def score(self) -> float:
        """One number, smaller is smoother."""
        return self.step + self.turn + self.acceleration

    def to_json(self) -> dict[str, float]:
        return {
            **{name: round(value, 6) for name, value in asdict(self).items()},
            "score": round(self.score, 6),
        }


@torch.no_grad()
def video_features(frames: Tensor, encoder: FeatureEncoder, *, batch: int = 8) -> Tensor:
    """[F, C, h, w], each cell's feature of length 1."""
    found = [encoder(chunk).float() for chunk in torch.split(frames, batch)]
    return F.normalize(torch.cat(found), dim=1)


def smoothness(features: Tensor) -> Smoothness:
    """Of feature maps [F, C, h, w]; fewer than three frames have no turn and count as smooth."""
    if len(features) < 3:
        return Smoothness(step=0.0, turn=0.0, acceleration=0.0)
    steps = features[1:] - features[:-1]
    lengths = steps.flatten(1).norm(dim=1)
    if float(lengths.max()) < MIN_MOTION:
        return Smoothness(step=0.0, turn=0.0, acceleration=0.0)
    typical = lengths.median().clamp_min(0.05 * float(lengths.max()))
    one, two = steps[:-1].flatten(1), steps[1:].flatten(1)
    weights = (one.norm(dim=1) * two.norm(dim=1)).clamp_min(MIN_MOTION)
    turns = 1 - F.cosine_similarity(one, two, dim=1, eps=MIN_MOTION)
    changes = (two - one).norm(dim=1)
    return Smoothness(
        step=float((lengths.max() / typical).log()),
        turn=float((turns * weights).sum() / weights.sum()),
        acceleration=float(changes.mean() / lengths.mean()),
    )
