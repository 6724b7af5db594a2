"""What the pictures show: masks, depth and features, from frozen networks behind three small protocols."""

from physplan.perception.evidence import (
    Evidence,
    KeyframeEvidence,
    evidence_of,
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
from physplan.perception.sightings import Sighting, look

__all__ = [
    "DepthEstimator",
    "Evidence",
    "FeatureEncoder",
    "Instance",
    "KeyframeEvidence",
    "Segmenter",
    "Sighting",
    "evidence_of",
    "first_frame_evidence",
    "gather_evidence",
    "keyframe_evidence",
    "look",
    "normalise_depth",
]
