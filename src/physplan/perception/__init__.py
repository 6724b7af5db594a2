"""What the pictures show: masks, depth and features, from frozen networks behind three small protocols."""

from physplan.perception.evidence import (
    Evidence,
    KeyframeEvidence,
    first_frame_evidence,
    gather_evidence,
    keyframe_evidence,
)
from physplan.perception.protocol import (
    DepthEstimator,
    FeatureEncoder,
    Instance,
    Segmenter,
    normalise_depth,
)

__all__ = [
    "DepthEstimator",
    "Evidence",
    "FeatureEncoder",
    "Instance",
    "KeyframeEvidence",
    "Segmenter",
    "first_frame_evidence",
    "gather_evidence",
    "keyframe_evidence",
    "normalise_depth",
]
