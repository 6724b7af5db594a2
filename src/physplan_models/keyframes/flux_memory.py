"""The GPU memory of FLUX.1 Kontext, from its layers' shapes, before its weights are here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from physplan.video.memory import GB
from physplan_models.memory import Allocated
from physplan_models.meta_models import default_dtype


def kontext_memory(options: Mapping[str, Any]) -> tuple[float, float]:
    """GB of weights and of work at a million pixels."""
    from diffusers import AutoencoderKL, FluxTransformer2DModel

    with torch.device("meta"), default_dtype(torch.bfloat16):
        network = FluxTransformer2DModel(guidance_embeds=True).requires_grad_(False)
        decoder = AutoencoderKL(
            block_out_channels=(128, 256, 512, 512),
            layers_per_block=2,
            latent_channels=16,
            down_block_types=("DownEncoderBlock2D",) * 4,
            up_block_types=("UpDecoderBlock2D",) * 4,
        ).requires_grad_(False)
        tokens, words = 2 * 64 * 64, 512  # the picture that is drawn and the one that is edited
        inputs = {
            "hidden_states": torch.empty(1, tokens, 64),
            "encoder_hidden_states": torch.empty(1, words, 4096),
            "pooled_projections": torch.empty(1, 768),
            "timestep": torch.empty(1),
            "guidance": torch.empty(1),
            "img_ids": torch.empty(tokens, 3),
            "txt_ids": torch.empty(words, 3),
        }
        with torch.no_grad(), Allocated(list(network.parameters())) as drawing:
            network(**inputs)
        with torch.no_grad(), Allocated(list(decoder.parameters())) as decoding:
            decoder.decode(torch.empty(1, 16, 128, 128))
    sizes = [p.numel() * p.element_size() for p in network.parameters()]
    text_encoders = 2 * (4.76 + 0.12) * GB
    whole = sum(sizes) + text_encoders + sum(p.numel() * 2 for p in decoder.parameters())
    resident = 2 * max(sizes) if options.get("group_offload") else whole
    return resident / GB, max(drawing.peak, decoding.peak) / GB
