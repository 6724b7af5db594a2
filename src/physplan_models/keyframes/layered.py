"""Layers of a picture by Qwen-Image-Layered: objects whole, and what is behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from diffusers import QwenImageLayeredPipeline
from PIL import Image
from torch import Tensor

from physplan.pictures import to_picture, to_tensor
from physplan.sketch.whole import Layers, LayerSource
from physplan_models.keyframes.diffusers import QwenImageEditor

SMALLEST_SHARE = 0.85  # of an object's pixels that its layer shows
MOST_LAYERS = 8


def qwen(**options: Any) -> LayerSource:
    layered = QwenLayers.from_pretrained(**options)
    assert isinstance(layered, QwenLayers)
    return layered


class QwenLayers(QwenImageEditor):
    """The words name every object, also what of it is hidden; a layer is an object's by where it shows."""

    pipeline_class = QwenImageLayeredPipeline
    source = "Qwen/Qwen-Image-Layered"
    defaults: ClassVar[Mapping[str, Any]] = {**QwenImageEditor.defaults, "resolution": 640}

    def __call__(self, image: Tensor, words: Mapping[str, str], masks: Mapping[str, Tensor]) -> Layers:
        bottom, *others = self._drawn(to_picture(image), words)
        size = (image.shape[2], image.shape[1])
        found = [_as_tensor(one, size).to(image) for one in others]
        objects = {id: layer for id, mask in masks.items() if (layer := layer_of(found, mask)) is not None}
        plate = _as_tensor(bottom, size)[:3].to(image)
        for layer in found:
            if not any(layer is one for one in objects.values()) and not _shows_any(layer, masks):
                plate = torch.lerp(plate, layer[:3], layer[3:])
        return Layers(plate=plate, objects=objects)

    def _drawn(self, image: Image.Image, words: Mapping[str, str]) -> list[Image.Image]:
        """From the bottom up, with opacity."""
        drawn: list[Image.Image] = self.pipeline(
            image=image.convert("RGBA"),
            prompt="; ".join(dict.fromkeys(words.values())) + "; the background",
            layers=min(2 + len(words), MOST_LAYERS),
            generator=torch.Generator("cpu").manual_seed(0),
            **self.options,
        ).images[0]
        return drawn


def layer_of(layers: list[Tensor], mask: Tensor) -> Tensor | None:
    """Of the layers [4, H, W] that show the object of a mask [H, W], the one that shows least beside it."""
    able = [one for one in layers if float((one[3] > 0.5)[mask].float().mean()) >= SMALLEST_SHARE]
    return min(able, key=lambda one: float(one[3].sum()), default=None)


def _shows_any(layer: Tensor, masks: Mapping[str, Tensor]) -> bool:
    """Whether a part of something that acts is on it."""
    return any(float((layer[3] > 0.5)[mask].float().mean()) > 1 - SMALLEST_SHARE for mask in masks.values())


def _as_tensor(layer: Image.Image, size: tuple[int, int]) -> Tensor:
    """[4, H, W] in [0, 1], at the picture's own size."""
    scaled = layer.convert("RGBA").resize(size, Image.Resampling.LANCZOS)
    return torch.cat([to_tensor(scaled.convert("RGB")), to_tensor(scaled.getchannel("A").convert("RGB"))[:1]])
