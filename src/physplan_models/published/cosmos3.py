"""The published models of Cosmos 3, and the shapes of their networks: the library's defaults."""

from __future__ import annotations

from physplan_models.published.model import PublishedModel
from physplan_models.published.wan import WAN2_2_5B_VAE

COSMOS3_NANO = PublishedModel(
    name="cosmos3-nano",
    repo="nvidia/Cosmos3-Nano",
    revision="main",
    height=720,
    width=1280,
    num_frames=189,
    fps=24,
    num_inference_steps=35,
    guidance_scale=6.0,
    pipeline="Cosmos3OmniPipeline",
    networks={"transformer": ("Cosmos3OmniTransformer", {}), "vae": ("AutoencoderKLWan", WAN2_2_5B_VAE)},
    encoder_parameters=0.0,  # the transformer reads the words itself
    scheduler={"shift": 10.0},
    keyframes="any",
)
