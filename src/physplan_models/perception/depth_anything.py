"""Depth Anything V2 as the depth estimator of eq. 7d."""

from __future__ import annotations

import os

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import DepthAnythingForDepthEstimation

from physplan.perception.images import fit_both, normalise, resize, size_of
from physplan.weights import load_model


class DepthAnythingV2:
    """Nearness at the size of the image. `size` is what the shorter way to scale brings a side to."""

    def __init__(self, model: DepthAnythingForDepthEstimation, *, size: int = 518) -> None:
        self.model = model
        self.size = size

    @classmethod
    def from_pretrained(
        cls,
        source: str | os.PathLike[str] = "depth-anything/Depth-Anything-V2-Small-hf",
        *,
        revision: str | None = None,
        torch_dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        size: int = 518,
    ) -> DepthAnythingV2:
        model = load_model(DepthAnythingForDepthEstimation, source, revision=revision, dtype=torch_dtype)
        return cls(model.to(device), size=size)

    def __call__(self, images: Tensor) -> Tensor:
        size = size_of(images)
        pixels = normalise(resize(images, fit_both(size, self.size, self.model.config.patch_size)))
        depth = self.model(pixels.to(self.model.device, self.model.dtype)).predicted_depth
        depth = F.interpolate(depth[:, None].float(), size=size, mode="bicubic", align_corners=False)[:, 0]
        # Relative models predict inverse depth, which is nearness; metric ones metres from the camera.
        return -depth if self.model.config.depth_estimation_type == "metric" else depth
