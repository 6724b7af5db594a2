"""The published models of Stable Video Diffusion, and the shapes of their networks."""

from __future__ import annotations

from physplan_models.published.model import PublishedModel

SVD_XT = PublishedModel(
    name="svd-xt",
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
    reads=False,
)
