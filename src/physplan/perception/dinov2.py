"""DINOv2 as the feature encoder F of eq. 4: open weights, for where DINOv3's gate stays shut."""

from __future__ import annotations

import os

import torch
from torch import Tensor
from transformers import Dinov2Model

from physplan.perception.images import normalise, patch_grid, resize, size_of
from physplan.weights import load_model


class DINOv2:
    """Patch tokens as a map at the stride of the patch size; the class token is dropped."""

    def __init__(self, model: Dinov2Model, *, long_side: int | None = None) -> None:
        self.model = model
        self.long_side = long_side

    @classmethod
    def from_pretrained(
        cls,
        source: str | os.PathLike[str] = "facebook/dinov2-base",
        *,
        revision: str | None = None,
        torch_dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        long_side: int | None = None,
    ) -> DINOv2:
        """`long_side` scales images before encoding; by default they keep their size, in whole patches."""
        model = load_model(Dinov2Model, source, revision=revision, dtype=torch_dtype)
        return cls(model.to(device), long_side=long_side)

    def __call__(self, images: Tensor) -> Tensor:
        patch = self.model.config.patch_size
        rows, columns = patch_grid(size_of(images), patch, self.long_side)
        pixels = normalise(resize(images, (rows * patch, columns * patch)))
        tokens: Tensor = self.model(pixels.to(self.model.device, self.model.dtype)).last_hidden_state
        return tokens[:, 1:].transpose(1, 2).reshape(len(images), -1, rows, columns).float()
