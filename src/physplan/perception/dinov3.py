"""DINOv3 as the feature encoder F of eq. 4, as in the paper. Its weights are gated."""

from __future__ import annotations

import os

import torch
from torch import Tensor
from transformers import DINOv3ViTModel

from physplan.perception.images import normalise, patch_grid, resize, size_of
from physplan.weights import load_model


class DINOv3:
    """Patch tokens as a map at the stride of the patch size; class and register tokens are dropped."""

    def __init__(self, model: DINOv3ViTModel, *, long_side: int | None = None) -> None:
        self.model = model
        self.long_side = long_side

    @classmethod
    def from_pretrained(
        cls,
        source: str | os.PathLike[str] = "facebook/dinov3-vitb16-pretrain-lvd1689m",
        *,
        revision: str | None = None,
        torch_dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        long_side: int | None = None,
    ) -> DINOv3:
        """`long_side` scales images before encoding; by default they keep their size, in whole patches."""
        model = load_model(DINOv3ViTModel, source, revision=revision, dtype=torch_dtype)
        return cls(model.to(device), long_side=long_side)

    def __call__(self, images: Tensor) -> Tensor:
        patch = self.model.config.patch_size
        rows, columns = patch_grid(size_of(images), patch, self.long_side)
        pixels = normalise(resize(images, (rows * patch, columns * patch), "bilinear"))
        tokens: Tensor = self.model(pixels.to(self.model.device, self.model.dtype)).last_hidden_state
        patches = tokens[:, 1 + self.model.config.num_register_tokens :]
        return patches.transpose(1, 2).reshape(len(images), -1, rows, columns).float()
