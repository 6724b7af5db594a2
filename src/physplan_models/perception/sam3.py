"""SAM 3: every instance of a named concept in one pass, without a detector. Its weights are gated."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import CLIPTokenizer, Sam3Model

from physplan.perception.images import HALF, masks_from_logits, normalise, resize, size_of
from physplan.perception.protocol import Instance
from physplan.weights import load, load_model
from physplan_models.perception.suppression import suppress_duplicates


class SAM3:
    """`threshold` is the least confidence of an instance."""

    def __init__(self, model: Sam3Model, tokenizer: CLIPTokenizer, *, threshold: float = 0.5) -> None:
        self.model, self.tokenizer, self.threshold = model, tokenizer, threshold

    @classmethod
    def from_pretrained(
        cls,
        source: str | os.PathLike[str] = "facebook/sam3",
        *,
        revision: str | None = None,
        torch_dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        **settings: Any,
    ) -> SAM3:
        model = load_model(Sam3Model, source, revision=revision, dtype=torch_dtype)
        tokenizer = load(CLIPTokenizer, source, revision=revision)
        return cls(model.to(device), tokenizer, **settings)

    @torch.no_grad()
    def segment(self, image: Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
        model = self.model
        side = model.config.image_size
        pixels = normalise(resize(image[None], (side, side), "bilinear"), HALF)
        seen = model.get_vision_features(pixels.to(model.device, model.dtype))
        instances = []
        for category in categories:
            text = self.tokenizer(
                category,
                padding="max_length",
                max_length=model.config.text_config.max_position_embeddings,
                truncation=True,
                return_tensors="pt",
            ).to(model.device)
            output = model(vision_embeds=seen, input_ids=text.input_ids, attention_mask=text.attention_mask)
            # Whether the concept is there at all, times whether this query is one of it.
            scores = (output.pred_logits.sigmoid() * output.presence_logits.sigmoid())[0].float()
            keep = scores > self.threshold
            if keep.any():
                masks = masks_from_logits(output.pred_masks[0, keep], size_of(image)).cpu()
                instances += [
                    Instance(category=category, mask=mask, score=score)
                    for mask, score in zip(masks, scores[keep].tolist(), strict=True)
                ]
        return suppress_duplicates(instances)
