"""The published models of Wan, and the shapes of their networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from physplan_models.published.model import Networks, PublishedModel


def wan_networks(vae: Mapping[str, Any] | None = None, denoisers: int = 1, **transformer: Any) -> Networks:
    large = {"num_attention_heads": 40, "num_layers": 40, "ffn_dim": 13824, "in_channels": 36}
    config = {**large, **transformer}
    names = ("transformer", "transformer_2")[:denoisers]
    return dict.fromkeys(names, ("WanTransformer3DModel", config)) | {"vae": ("AutoencoderKLWan", vae or {})}


def vace_networks(*, every: int, denoisers: int, num_layers: int, **transformer: Any) -> Networks:
    """`every` so many layers takes the condition."""
    layers = {"vace_layers": list(range(0, num_layers, every)), "vace_in_channels": 96}
    config = {**transformer, "num_layers": num_layers, "in_channels": 16, **layers}
    names = ("transformer", "transformer_2")[:denoisers]
    return dict.fromkeys(names, ("WanVACETransformer3DModel", config)) | {"vae": ("AutoencoderKLWan", {})}


WAN2_2_5B_VAE: Mapping[str, Any] = {
    "base_dim": 160,
    "decoder_base_dim": 256,
    "z_dim": 48,
    "in_channels": 12,
    "out_channels": 12,
    "patch_size": 2,
    "scale_factor_spatial": 16,
    "is_residual": True,
    "latents_mean": (0.0,) * 48,  # only their number matters here
    "latents_std": (1.0,) * 48,
}

WAN2_1_14B = PublishedModel(
    name="wan2.1-14b",
    repo="Wan-AI/Wan2.1-I2V-14B-480P-Diffusers",
    revision="b184e23a8a16b20f108f727c902e769e873ffc73",
    height=480,
    width=832,
    num_frames=81,
    fps=16,
    num_inference_steps=50,
    guidance_scale=5.0,
    pipeline="WanImageToVideoPipeline",
    networks=wan_networks(image_dim=1280, added_kv_proj_dim=5120),
    encoder_parameters=7.0,
)

WAN2_2_A14B = replace(
    WAN2_1_14B,
    name="wan2.2-a14b",
    repo="Wan-AI/Wan2.2-I2V-A14B-Diffusers",
    revision="596658fd9ca6b7b71d5057529bbf319ecbc61d74",
    num_inference_steps=40,
    guidance_scale=3.5,
    networks=wan_networks(denoisers=2),
    encoder_parameters=5.7,
    settings={"boundary_ratio": 0.9},
    keyframes="last",
)

WAN2_2_5B = PublishedModel(
    name="wan2.2-5b",
    repo="Wan-AI/Wan2.2-TI2V-5B-Diffusers",
    revision="b8fff7315c768468a5333511427288870b2e9635",
    height=704,
    width=1280,
    num_frames=121,
    fps=24,
    num_inference_steps=50,
    guidance_scale=5.0,
    pipeline="WanImageToVideoPipeline",
    networks=wan_networks(
        vae=WAN2_2_5B_VAE,
        num_attention_heads=24,
        num_layers=30,
        ffn_dim=14336,
        in_channels=48,
        out_channels=48,
    ),
    encoder_parameters=5.7,
    settings={"expand_timesteps": True},
)

WAN2_2_VACE_A14B = replace(
    WAN2_2_A14B,
    name="wan2.2-vace-a14b",
    repo="linoyts/Wan2.2-VACE-Fun-14B-diffusers",
    revision="main",
    guidance_scale=5.0,
    pipeline="WanVACEPipeline",
    networks=vace_networks(every=5, denoisers=2, num_attention_heads=40, num_layers=40, ffn_dim=13824),
    settings={"boundary_ratio": 0.875},
    keyframes="any",
)

WAN2_1_VACE_1_3B = replace(
    WAN2_2_VACE_A14B,
    name="wan2.1-vace-1.3b",
    repo="Wan-AI/Wan2.1-VACE-1.3B-diffusers",
    num_inference_steps=50,
    networks=vace_networks(every=2, denoisers=1, num_attention_heads=12, num_layers=30, ffn_dim=8960),
    settings={},
)
