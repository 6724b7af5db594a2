"""The perception backends by name. Adding one is a file and a line here (docs/backends.md)."""

from __future__ import annotations

from physplan.registry import Registry

SEGMENTERS = Registry(
    "segmenter",
    {
        "grounded-sam-2": "physplan.perception.grounded_sam2:GroundedSAM2",
        "sam-3": "physplan.perception.sam3:SAM3",
        "sandbox": "physplan.sandbox.components:load_segmenter",
    },
)
DEPTH_ESTIMATORS = Registry(
    "depth estimator",
    {
        "depth-anything-v2": "physplan.perception.depth_anything:DepthAnythingV2",
        "sandbox": "physplan.sandbox.components:load_depth",
    },
)
ENCODERS = Registry(
    "feature encoder",
    {
        "dinov3": "physplan.perception.dinov3:DINOv3",
        "dinov2": "physplan.perception.dinov2:DINOv2",
        "sandbox": "physplan.sandbox.components:load_encoder",
    },
)
