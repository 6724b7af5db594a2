"""The published models of HunyuanVideo 1.5, and the shapes of their networks."""

from __future__ import annotations

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
