"""Stable Video Diffusion: no text, one latent per frame, guidance that grows along the video."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from physplan.video.base import EncodeWords, FamilyModel, Request
from physplan.video.clocks import Clocks
from physplan.video.noise import EDM
from physplan.video.protocol import Conditioning
from physplan_models.encoders import Encoders
from physplan_models.families.family import META, Family


class SVDCodec:
    """A picture autoencoder whose decoder also looks at neighbouring frames."""

    temporal_ratio = 1
    frame_multiple = 1

    def __init__(self, vae: Any) -> None:
        self.vae = vae
        self.spatial_ratio = 2 ** (len(vae.config.block_out_channels) - 1)
        self.channels = vae.config.latent_channels

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        latent: Tensor = self.vae.encode(image.to(self.vae.dtype)).latent_dist.mode()
        return latent.unsqueeze(2)

    def encode_video(self, video: Tensor) -> Tensor:
        """Scaled, unlike the picture that the denoiser is shown beside its latents."""
        frames = video[0].transpose(0, 1).to(self.vae.dtype)
        chunks = torch.split(frames, 8)
        latents: Tensor = torch.cat([self.vae.encode(chunk).latent_dist.mode() for chunk in chunks])
        return latents.float().transpose(0, 1)[None] * float(self.vae.config.scaling_factor)

    def decode(self, latents: Tensor, *, tiled: bool = False) -> Tensor:
        frames = (latents[0].transpose(0, 1) / self.vae.config.scaling_factor).to(self.vae.dtype)
        # This autoencoder has no tiles; two frames at a time is what saves memory here.
        chunks = frames.split(2 if tiled else len(frames))
        decoded = torch.cat([self.vae.decode(chunk, num_frames=len(chunk)).sample for chunk in chunks])
        return decoded.float() / 2 + 0.5


def words(pipe: Any, encoders: Encoders) -> EncodeWords:
    """No words: `seen` [rows, 1, C], the picture through CLIP, and zeros for the unconditional branch."""

    def encode(run: Request) -> dict[str, Any]:
        with encoders.loaded():
            return {"seen": pipe._encode_image(run.image, encoders.device, 1, run.guided)}

    return encode


def meta_words(pipe: Any) -> EncodeWords:
    channels = pipe.unet.config.cross_attention_dim
    return lambda run: {"seen": torch.empty(run.branches, 1, channels, device=META)}


class SVD(FamilyModel):
    """EDM noise; the picture's latent is concatenated by channel, its CLIP embedding attended to."""

    name = "svd"
    clocks = Clocks(weak=0.32, strong=0.42)  # Time-to-Move
    preview_mode = "centred"
    motion_bucket = 127
    augmentation = 0.02

    def __init__(self, pipe: Any, encode: EncodeWords) -> None:
        self.pipe, self.encode = pipe, encode
        self.codec = SVDCodec(pipe.vae)
        self.denoiser = pipe.unet
        levels = len(self.denoiser.config.block_out_channels) - 1
        self.side_multiple = self.codec.spatial_ratio * 2**levels

    def condition(self, run: Request) -> Conditioning:
        """The prompt is not used: the picture is this model's only conditioning."""
        seen = self.encode(run)["seen"].to(self.device, self.dtype)
        pixels = run.pixels(self.pipe.video_processor)
        pixels = pixels + self.augmentation * torch.randn(pixels.shape, generator=run.generator)
        picture = self.codec.encode_image(pixels.to(self.device), run.generator).to(self.device, self.dtype)
        drawn = run.draw_by_frame(picture)
        self.pipe.scheduler.set_timesteps(run.num_inference_steps)
        times = [(run.fps or 7) - 1, self.motion_bucket, self.augmentation]  # it was trained on fps - 1
        growing = (
            torch.linspace(1.0, run.guidance_scale, run.layout.num_frames)
            .view(1, 1, -1, 1, 1)
            .to(self.device)
        )
        return run.conditioning(
            latents=(drawn * self.pipe.scheduler.init_noise_sigma).to(self.device, torch.float32),
            noise=EDM.from_scheduler(self.pipe.scheduler),
            timesteps=self.pipe.scheduler.timesteps,
            guidance=[growing] * run.num_inference_steps,
            inputs={
                "seen": seen,
                "picture": run.rows(torch.zeros_like(picture), picture),
                "times": torch.tensor([times] * len(seen), device=self.device, dtype=self.dtype),
            },
        )

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        inputs = conditioning.inputs
        picture = inputs["picture"][rows].expand(-1, -1, latents.shape[2], -1, -1)
        noise = conditioning.noise
        assert isinstance(noise, EDM)
        scaled = noise.scale_input(latents, n).to(self.dtype)
        batch = torch.cat([scaled.expand(len(picture), -1, -1, -1, -1), picture], dim=1).transpose(1, 2)
        output: Tensor = self.denoiser(
            batch,
            conditioning.timesteps[n].to(batch.device),
            encoder_hidden_states=inputs["seen"][rows],
            added_time_ids=inputs["times"][rows],
            return_dict=False,
        )[0]
        return output.float().transpose(1, 2)


FAMILY = Family(
    name=SVD.name,
    pipelines={"StableVideoDiffusionPipeline": "StableVideoDiffusionPipeline"},
    scheduler="EulerDiscreteScheduler",
    scheduler_settings={"prediction_type": "v_prediction"},
    model=SVD,
    words=words,
    meta_words=meta_words,
    encoders=("image_encoder", "feature_extractor"),
)
