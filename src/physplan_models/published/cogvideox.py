"""The published models of CogVideoX, and the shapes of their networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from physplan_models.published.model import Networks, PublishedModel


def cogvideox_networks(vae: Mapping[str, Any] | None = None, **transformer: Any) -> Networks:
    wide = {"num_attention_heads": 48, "num_layers": 42, "in_channels": 32, "out_channels": 16}
    config = {**wide, "use_rotary_positional_embeddings": True, **transformer}
    return {
        "transformer": ("CogVideoXTransformer3DModel", config),
        "vae": ("AutoencoderKLCogVideoX", {"scaling_factor": 0.7, **(vae or {})}),
    }


COGVIDEOX_5B = PublishedModel(
    name="cogvideox-5b",
    repo="THUDM/CogVideoX-5b-I2V",
    revision="a6f0f4858a8395e7429d82493864ce92bf73af11",
    height=480,
    width=720,
    num_frames=49,
    fps=8,
    num_inference_steps=50,
    guidance_scale=6.0,
    pipeline="CogVideoXImageToVideoPipeline",
    networks=cogvideox_networks(use_learned_positional_embeddings=True),
    encoder_parameters=4.76,
)

COGVIDEOX1_5_5B = replace(
    COGVIDEOX_5B,
    name="cogvideox1.5-5b",
    repo="THUDM/CogVideoX1.5-5B-I2V",
    revision="46c90528707aebbe69066390b4fe7e7d24c9c2a4",
    height=768,
    width=1360,
    num_frames=81,
    fps=16,
    networks=cogvideox_networks(
        vae={"invert_scale_latents": True},
        sample_frames=81,
        sample_height=300,
        sample_width=300,
        patch_size_t=2,
        patch_bias=False,
        ofs_embed_dim=512,
        max_text_seq_length=224,
    ),
)
