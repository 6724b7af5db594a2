"""DINOv2 as the feature encoder F of eq. 4: open weights, for where DINOv3's gate stays shut."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from physplan.perception.images import normalise, patch_grid, resize, size_of
from physplan.weights import load_model


class DINOv2:
    """Patch tokens as a map at the stride of the patch size; class and register tokens are dropped."""

    network: ClassVar[str] = "Dinov2Model"  # of transformers, which takes a second to import
    source: ClassVar[str] = "facebook/dinov2-base"
    interpolation: ClassVar[str] = "bicubic"  # what its own processor resizes with

    def __init__(self, model: Any, *, long_side: int | None = None) -> None:
        self.model = model
        self.long_side = long_side

    @classmethod
    def from_pretrained(
        cls,
        source: str | os.PathLike[str] | None = None,
        *,
        revision: str | None = None,
        torch_dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        long_side: int | None = None,
    ) -> Self:
        """`long_side` scales images before encoding; by default they keep their size, in whole patches."""
        import transformers

        network = getattr(transformers, cls.network)
        model = load_model(network, source or cls.source, revision=revision, dtype=torch_dtype)
        return cls(model.to(device), long_side=long_side)

    def __call__(self, images: Tensor) -> Tensor:
        config = self.model.config
        rows, columns = patch_grid(size_of(images), config.patch_size, self.long_side)
        size = rows * config.patch_size, columns * config.patch_size
        pixels = normalise(resize(images, size, self.interpolation))
        tokens: Tensor = self.model(pixels.to(self.model.device, self.model.dtype)).last_hidden_state
        patches = tokens[:, 1 + getattr(config, "num_register_tokens", 0) :]
        return patches.transpose(1, 2).reshape(len(images), -1, rows, columns).float()
