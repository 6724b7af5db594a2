"""Masks, depth and features of pictures, from frozen networks behind three protocols."""

from typing import TYPE_CHECKING

from physplan.lazy import lazy_names

if TYPE_CHECKING:
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
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "evidence": "Evidence KeyframeEvidence evidence_of first_frame_evidence "
            "gather_evidence keyframe_evidence",
            "protocol": "DepthEstimator FeatureEncoder Instance Segmenter normalise_depth",
            "sightings": "Sighting look",
        },
    )

__all__ = [
    "DepthEstimator", "Evidence", "FeatureEncoder", "Instance", "KeyframeEvidence", "Segmenter", "Sighting",
    "evidence_of", "first_frame_evidence", "gather_evidence", "keyframe_evidence", "look",
    "normalise_depth",
]  # fmt: skip
