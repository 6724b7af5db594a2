"""V-JEPA 2's surprise as a motion score: how badly a world model foretells the later part of a video.

An optional back end of the protocol of `smoothness.FeatureSmoothness`: its weights are downloaded, and large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.errors import PhysPlanError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VJEPASurprise:
    """1 - cos between the features of the second half and what the predictor makes of the first half."""

    model: Any
    name: str = "vjepa2"

    @classmethod
    def from_pretrained(
        cls, source: str = "facebook/vjepa2-vitl-fpc64-256", *, device: str = "cpu", **options: Any
    ) -> Self:
        from transformers import VJEPA2Model

        from physplan.weights import load_model

        model = load_model(VJEPA2Model, source, **options).to(device)
        return cls(model=model.eval().requires_grad_(False))

    @torch.no_grad()
    def __call__(self, frames: Tensor) -> float:
        config = self.model.config
        tubelet, side = int(config.tubelet_size), int(config.crop_size)
        count = len(frames) - len(frames) % (2 * tubelet)
        if count < 2 * tubelet:
            raise PhysPlanError(
                f"V-JEPA 2 needs at least {2 * tubelet} frames to foretell half of them, not {len(frames)}."
            )
        pixels = F.interpolate(frames[-count:], (side, side), mode="bilinear", antialias=True)
        mean, std = (torch.tensor(values).view(1, 3, 1, 1).to(pixels) for values in (MEAN, STD))
        pixels = ((pixels - mean) / std)[None].to(self.model.device, self.model.dtype)
        cells = (side // int(config.patch_size)) ** 2
        tokens = torch.arange(count // tubelet * cells, device=self.model.device)[None]
        half = tokens.shape[1] // 2
        # The first half is encoded by itself: encoded with the rest it would know what comes.
        begun = self.model.encoder(pixels[:, : count // 2]).last_hidden_state
        whole = self.model.encoder(pixels).last_hidden_state[:, half:]
        foretold = self.model.predictor(
            encoder_hidden_states=begun, context_mask=[tokens[:, :half]], target_mask=[tokens[:, half:]]
        ).last_hidden_state
        return float(1 - F.cosine_similarity(foretold.float(), whole.float(), dim=-1).mean())
