"""DINOv3 as the feature encoder F of eq. 4, as in the paper. Its weights are gated."""

from __future__ import annotations

from physplan_models.perception.dinov2 import DINOv2


class DINOv3(DINOv2):
    """Used as DINOv2 is; it has register tokens, too."""

    network = "DINOv3ViTModel"
    source = "facebook/dinov3-vitb16-pretrain-lvd1689m"
    interpolation = "bilinear"
