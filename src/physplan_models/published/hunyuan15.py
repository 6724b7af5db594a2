"""The published models of HunyuanVideo 1.5, and the shapes of their networks."""

from __future__ import annotations

from dataclasses import replace

from physplan_models.published.model import PublishedModel

HUNYUAN_1_5 = PublishedModel(
    name="hunyuan-1.5",
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
)

# Distilled to few steps; conditioned on the timestep at which a step lands.
HUNYUAN_1_5_DISTILLED = replace(
    HUNYUAN_1_5,
    name="hunyuan-1.5-distilled",
    repo="hunyuanvideo-community/HunyuanVideo-1.5-Diffusers-480p_i2v_step_distilled",
    revision="854c04a4c8a53d990b418c7478f0802c0fc8c726",
    num_inference_steps=12,
    guidance_scale=1.0,
    networks={
        **HUNYUAN_1_5.networks,
        "transformer": ("HunyuanVideo15Transformer3DModel", {"use_meanflow": True}),
    },
    scheduler={"shift": 7.0},
)
