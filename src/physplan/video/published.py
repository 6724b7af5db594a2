"""The published models by name: where they are, at which commit, what they make, and their shape.

The shape (`networks`) is what their config.json files say beyond the library's defaults; with it the memory
of a run is known before anything is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from physplan.errors import PhysPlanError
from physplan.registry import did_you_mean

Networks = Mapping[str, tuple[str, Mapping[str, Any]]]  # component -> class in diffusers, its config


@dataclass(frozen=True, kw_only=True)
class PublishedModel:
    repo: str
    revision: str
    height: int
    width: int
    num_frames: int
    fps: int
    num_inference_steps: int
    guidance_scale: float
    use_dynamic_cfg: bool = False
    eta: float = 0.0
    dtype: str = "bf16"
    pipeline: str
    networks: Networks
    encoder_parameters: float  # in billions; the picture encoder counts twice, it is loaded in fp32
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the pipeline
    scheduler: Mapping[str, Any] = field(default_factory=dict)  # beyond the family's own settings
    keyframes: Literal["none", "last", "any"] = "none"  # where pictures can be given beside the first


def cogvideox_networks(vae: Mapping[str, Any] | None = None, **transformer: Any) -> Networks:
    wide = {"num_attention_heads": 48, "num_layers": 42, "in_channels": 32, "out_channels": 16}
    config = {**wide, "use_rotary_positional_embeddings": True, **transformer}
    return {
        "transformer": ("CogVideoXTransformer3DModel", config),
        "vae": ("AutoencoderKLCogVideoX", {"scaling_factor": 0.7, **(vae or {})}),
    }


def wan_networks(vae: Mapping[str, Any] | None = None, denoisers: int = 1, **transformer: Any) -> Networks:
    large = {"num_attention_heads": 40, "num_layers": 40, "ffn_dim": 13824, "in_channels": 36}
    config = {**large, **transformer}
    names = ("transformer", "transformer_2")[:denoisers]
    return dict.fromkeys(names, ("WanTransformer3DModel", config)) | {"vae": ("AutoencoderKLWan", vae or {})}


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

PUBLISHED: dict[str, PublishedModel] = {
    "cogvideox-5b": PublishedModel(
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
    ),
    "cogvideox1.5-5b": PublishedModel(
        repo="THUDM/CogVideoX1.5-5B-I2V",
        revision="46c90528707aebbe69066390b4fe7e7d24c9c2a4",
        height=768,
        width=1360,
        num_frames=81,
        fps=16,
        num_inference_steps=50,
        guidance_scale=6.0,
        pipeline="CogVideoXImageToVideoPipeline",
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
        encoder_parameters=4.76,
    ),
    "wan2.1-14b": PublishedModel(
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
    ),
    "wan2.2-a14b": PublishedModel(
        repo="Wan-AI/Wan2.2-I2V-A14B-Diffusers",
        revision="596658fd9ca6b7b71d5057529bbf319ecbc61d74",
        height=480,
        width=832,
        num_frames=81,
        fps=16,
        num_inference_steps=40,
        guidance_scale=3.5,
        pipeline="WanImageToVideoPipeline",
        networks=wan_networks(denoisers=2),
        encoder_parameters=5.7,
        settings={"boundary_ratio": 0.9},
        keyframes="last",
    ),
    "wan2.2-5b": PublishedModel(
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
            vae={
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
            },
            num_attention_heads=24,
            num_layers=30,
            ffn_dim=14336,
            in_channels=48,
            out_channels=48,
        ),
        encoder_parameters=5.7,
        settings={"expand_timesteps": True},
    ),
    "wan2.1-vace-1.3b": PublishedModel(
        repo="Wan-AI/Wan2.1-VACE-1.3B-diffusers",
        revision="main",
        height=480,
        width=832,
        num_frames=81,
        fps=16,
        num_inference_steps=50,
        guidance_scale=5.0,
        pipeline="WanVACEPipeline",
        networks={
            "transformer": (
                "WanVACETransformer3DModel",
                {
                    "num_attention_heads": 12,
                    "num_layers": 30,
                    "ffn_dim": 8960,
                    "in_channels": 16,
                    "vace_layers": list(range(0, 30, 2)),
                    "vace_in_channels": 96,
                },
            ),
            "vae": ("AutoencoderKLWan", {}),
        },
        encoder_parameters=5.7,
        keyframes="any",
    ),
    "ltx": PublishedModel(
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
    ),
    "ltx-0.9.5": PublishedModel(
        repo="Lightricks/LTX-Video-0.9.5",
        revision="main",
        height=480,
        width=704,
        num_frames=161,
        fps=24,
        num_inference_steps=50,
        guidance_scale=3.0,
        pipeline="LTXConditionPipeline",
        networks={
            "transformer": ("LTXVideoTransformer3DModel", {}),
            "vae": ("AutoencoderKLLTXVideo", LTX_095_AUTOENCODER),
        },
        encoder_parameters=4.76,
        scheduler={"use_dynamic_shifting": False},
        keyframes="any",
    ),
    "ltx-2": PublishedModel(
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
            "vae": (
                "AutoencoderKLLTX2Video",
                {"spatial_compression_ratio": 32, "temporal_compression_ratio": 8},
            ),
        },
        encoder_parameters=13.6,
    ),
    "hunyuan-1.5": PublishedModel(
        repo="hunyuanvideo-community/HunyuanVideo-1.5-Diffusers-480p_i2v",
        revision="main",
        height=480,
        width=848,
        num_frames=121,
        fps=24,
        num_inference_steps=50,
        guidance_scale=6.0,
        pipeline="HunyuanVideo15ImageToVideoPipeline",
        networks={
            "transformer": ("HunyuanVideo15Transformer3DModel", {}),
            "vae": ("AutoencoderKLHunyuanVideo15", {}),
        },
        encoder_parameters=8.2,
        scheduler={"shift": 5.0},
    ),
    "svd-xt": PublishedModel(
        repo="stabilityai/stable-video-diffusion-img2vid-xt",
        revision="9e43909513c6714f1bc78bcb44d96e733cd242aa",
        height=576,
        width=1024,
        num_frames=25,
        fps=7,
        num_inference_steps=25,
        guidance_scale=3.0,
        dtype="fp16",
        pipeline="StableVideoDiffusionPipeline",
        networks={
            "unet": (
                "UNetSpatioTemporalConditionModel",
                {"num_attention_heads": (5, 10, 20, 20), "num_frames": 25, "sample_size": 96},
            ),
            "vae": (
                "AutoencoderKLTemporalDecoder",
                {
                    "block_out_channels": (128, 256, 512, 512),
                    "layers_per_block": 2,
                    "sample_size": 768,
                    "down_block_types": ("DownEncoderBlock2D",) * 4,
                },
            ),
        },
        encoder_parameters=1.3,
    ),
}


def published_model(name: str) -> PublishedModel:
    if name not in PUBLISHED:
        raise PhysPlanError(f"There is no video preset called {name!r}. {did_you_mean(name, PUBLISHED)}")
    return PUBLISHED[name]
