"""The published models of LTX-Video and LTX-2, and the shapes of their networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from physplan_models.published.model import PublishedModel

LTX_095_AUTOENCODER: Mapping[str, Any] = {
    "block_out_channels": (128, 256, 512, 1024, 2048),
    "down_block_types": ("LTXVideo095DownBlock3D",) * 4,
    "decoder_block_out_channels": (256, 512, 1024),
    "layers_per_block": (4, 6, 6, 2, 2),
    "decoder_layers_per_block": (5, 5, 5, 5),
    "spatio_temporal_scaling": (True,) * 4,
    "decoder_spatio_temporal_scaling": (True,) * 3,
    "decoder_inject_noise": (False,) * 4,
    "downsample_type": ("spatial", "temporal", "spatiotemporal", "spatiotemporal"),
    "upsample_residual": (True,) * 3,
    "upsample_factor": (2, 2, 2),
    "timestep_conditioning": True,
    "spatial_compression_ratio": 32,
    "temporal_compression_ratio": 8,
}

LTX = PublishedModel(
    name="ltx",
    repo="Lightricks/LTX-Video",
    revision="8984fa25007f376c1a299016d0957a37a2f797bb",
    height=480,
    width=704,
    num_frames=161,
    fps=24,
    num_inference_steps=50,
    guidance_scale=3.0,
    pipeline="LTXImageToVideoPipeline",
    networks={"transformer": ("LTXVideoTransformer3DModel", {}), "vae": ("AutoencoderKLLTXVideo", {})},
    encoder_parameters=4.76,
)

LTX_0_9_5 = replace(
    LTX,
    name="ltx-0.9.5",
    repo="Lightricks/LTX-Video-0.9.5",
    revision="main",
    pipeline="LTXConditionPipeline",
    networks={
        "transformer": ("LTXVideoTransformer3DModel", {}),
        "vae": ("AutoencoderKLLTXVideo", LTX_095_AUTOENCODER),
    },
    scheduler={"use_dynamic_shifting": False},
    keyframes="any",
)

LTX_2 = PublishedModel(
    name="ltx-2",
    repo="Lightricks/LTX-2",
    revision="main",
    height=512,
    width=768,
    num_frames=121,
    fps=24,
    num_inference_steps=40,
    guidance_scale=4.0,
    pipeline="LTX2ImageToVideoPipeline",
    networks={
        "transformer": ("LTX2VideoTransformer3DModel", {"rope_type": "split"}),
        "vae": ("AutoencoderKLLTX2Video", {"spatial_compression_ratio": 32, "temporal_compression_ratio": 8}),
    },
    encoder_parameters=13.6,
    keyframes="any",
)

LTX_2_3_AUTOENCODER: Mapping[str, Any] = {
    "block_out_channels": (256, 512, 1024, 1024),
    "decoder_block_out_channels": (256, 512, 512, 1024),
    "layers_per_block": (4, 6, 4, 2, 2),
    "decoder_layers_per_block": (4, 6, 4, 2, 2),
    "decoder_spatio_temporal_scaling": (True,) * 4,
    "decoder_inject_noise": (False,) * 5,
    "upsample_type": ("spatiotemporal", "spatiotemporal", "temporal", "spatial"),
    "upsample_residual": (False,) * 4,
    "upsample_factor": (2, 2, 1, 2),
    "decoder_spatial_padding_mode": "zeros",
    "spatial_compression_ratio": 32,
    "temporal_compression_ratio": 8,
}

LTX_2_3_TRANSFORMER: Mapping[str, Any] = {
    "rope_type": "split",
    "gated_attn": True,
    "cross_attn_mod": True,
    "audio_gated_attn": True,
    "audio_cross_attn_mod": True,
    "use_prompt_embeddings": False,
}

LTX_2_3 = replace(
    LTX_2,
    name="ltx-2.3",
    repo="dg845/LTX-2.3-Diffusers",
    num_inference_steps=30,
    networks={
        "transformer": ("LTX2VideoTransformer3DModel", LTX_2_3_TRANSFORMER),
        "vae": ("AutoencoderKLLTX2Video", LTX_2_3_AUTOENCODER),
    },
)

# The folder `transformer` is the distilled one: eight steps, no guidance. Its text encoder is Gemma 4.
LTX_2_5 = replace(
    LTX_2_3,
    name="ltx-2.5",
    repo="Lightricks/LTX-2.5-Diffusers",
    num_inference_steps=8,
    guidance_scale=1.0,
    networks={
        "transformer": (
            "LTX2VideoTransformer3DModel",
            {**LTX_2_3_TRANSFORMER, "ff_bias": False, "use_keyframes_abs_pos_embedding": True},
        ),
        "vae": ("AutoencoderKLLTX2Video", LTX_2_3_AUTOENCODER),
    },
    encoder_parameters=15.2,
    scheduler={"use_dynamic_shifting": False},
)
