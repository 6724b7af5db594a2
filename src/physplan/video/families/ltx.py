"""LTX-Video image-to-video: packed latents, a first latent that stays clean, a decoder that looks ahead."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from physplan.video.encoders import Encoders
from physplan.video.families.base import EncodeWords, FamilyModel, Request, channel_stats, tiling, to_unit
from physplan.video.families.family import META, Family
from physplan.video.noise import Flow
from physplan.video.protocol import Conditioning


class LTXCodec:
    """One frame, then eight per latent. Some versions remove a last bit of noise while they decode."""

    decode_timestep = 0.05
    decode_noise = 0.025

    def __init__(self, vae: Any) -> None:
        self.vae = vae
        self.spatial_ratio = vae.spatial_compression_ratio
        self.temporal_ratio = vae.temporal_compression_ratio
        self.frame_multiple = self.temporal_ratio
        self.channels = vae.config.latent_channels

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        posterior = self.vae.encode(image.to(self.vae.dtype).unsqueeze(2)).latent_dist
        latent: Tensor = posterior.sample(generator).float()
        return (latent - channel_stats(self.vae.latents_mean, latent)) / channel_stats(
            self.vae.latents_std, latent
        )

    def encode_video(self, video: Tensor) -> Tensor:
        latents: Tensor = self.vae.encode(video.to(self.vae.dtype)).latent_dist.mode().float()
        mean, std = (channel_stats(v, latents) for v in (self.vae.latents_mean, self.vae.latents_std))
        return (latents - mean) * float(self.vae.config.scaling_factor) / std

    def decode(self, latents: Tensor, *, tiled: bool = False) -> Tensor:
        mean, std = (channel_stats(v, latents) for v in (self.vae.latents_mean, self.vae.latents_std))
        scaled = latents * std / self.vae.config.scaling_factor + mean
        time = None
        # Some versions draw noise while they decode; two previews of one latent must be the same.
        with torch.random.fork_rng(devices=[latents.device] if latents.is_cuda else []):
            torch.manual_seed(0)
            if self.vae.config.timestep_conditioning:
                noise = torch.randn(scaled.shape).to(scaled)
                scaled = (1 - self.decode_noise) * scaled + self.decode_noise * noise
                time = torch.tensor([self.decode_timestep], device=scaled.device, dtype=self.vae.dtype)
            with tiling(self.vae, tiled):
                return to_unit(self.vae.decode(scaled.to(self.vae.dtype), time, return_dict=False)[0])


def words(pipe: Any, encoders: Encoders) -> EncodeWords:
    """`text` [rows, 128, C] and its `mask` [rows, 128]."""

    def encode(run: Request) -> dict[str, Any]:
        with encoders.loaded():
            text, mask, negative, negative_mask = pipe.encode_prompt(
                run.prompt, run.negative_prompt, run.guided, device=encoders.device
            )
        return {"text": run.rows(negative, text), "mask": run.rows(negative_mask, mask)}

    return encode


def blank_words(pipe: Any) -> EncodeWords:
    channels = pipe.transformer.config.caption_channels

    def encode(run: Request) -> dict[str, Any]:
        mask = torch.empty(run.branches, 128, dtype=torch.bool, device=META)
        return {"text": torch.empty(run.branches, 128, channels, device=META), "mask": mask}

    return encode


class LTX(FamilyModel):
    """Rectified flow with a shift that depends on the size; tokens of the picture are told time 0."""

    name = "ltx"
    preview_length = 5
    preview_mode = "centred"  # the decoder looks two latents ahead and two back

    def __init__(self, pipe: Any, encode: EncodeWords) -> None:
        self.pipe, self.encode = pipe, encode
        self.codec = LTXCodec(pipe.vae)
        self.denoiser = pipe.transformer
        self.side_multiple = self.codec.spatial_ratio * self.denoiser.config.patch_size
        self.patch = (self.denoiser.config.patch_size, self.denoiser.config.patch_size_t)

    def condition(self, run: Request) -> Conditioning:
        encoded = self.encode(run)
        pixels = run.pixels(self.pipe.video_processor).to(self.device, self.dtype)
        picture = self.codec.encode_image(pixels, run.generator)
        shape = (1, self.codec.channels, run.layout.num_latents, *picture.shape[-2:])
        drawn = torch.randn(shape, generator=run.generator).to(self.device)
        config = self.pipe.scheduler.config
        from diffusers.pipelines.ltx.pipeline_ltx_image2video import calculate_shift  # seconds to import

        shift = calculate_shift(
            drawn[0, 0].numel(),
            config.get("base_image_seq_len", 256),
            config.get("max_image_seq_len", 4096),
            config.get("base_shift", 0.5),
            config.get("max_shift", 1.15),
        )
        sigmas = np.linspace(1.0, 1 / run.num_steps, run.num_steps)
        self.pipe.scheduler.set_timesteps(sigmas=sigmas, mu=shift)
        return run.conditioning(
            latents=torch.cat([picture, drawn[:, :, 1:]], dim=2),
            noise=Flow.from_scheduler(self.pipe.scheduler, frozen=1),
            timesteps=self.pipe.scheduler.timesteps,
            inputs={"text": encoded["text"].to(self.dtype), "mask": encoded["mask"], "fps": run.fps or 25},
        )

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        text, mask = conditioning.inputs["text"][rows], conditioning.inputs["mask"][rows]
        frames, height, width = latents.shape[2:]
        time = conditioning.timesteps[n].to(latents.device) * torch.ones_like(latents[:1, :1])
        time[:, :, 0] = 0
        times = self.pipe._pack_latents(time, *self.patch).squeeze(-1)
        packed = self.pipe._pack_latents(latents.to(self.dtype), *self.patch)
        output: Tensor = self.denoiser(
            hidden_states=packed.expand(len(text), -1, -1),
            encoder_hidden_states=text,
            timestep=times.expand(len(text), -1),
            encoder_attention_mask=mask,
            num_frames=frames,
            height=height,
            width=width,
            rope_interpolation_scale=(
                self.codec.temporal_ratio / conditioning.inputs["fps"],
                self.codec.spatial_ratio,
                self.codec.spatial_ratio,
            ),
            return_dict=False,
        )[0]
        unpacked: Tensor = self.pipe._unpack_latents(output.float(), frames, height, width, *self.patch)
        return unpacked


FAMILY = Family(
    name=LTX.name,
    pipelines={
        "LTXImageToVideoPipeline": "LTXImageToVideoPipeline",
        "LTXPipeline": "LTXImageToVideoPipeline",
        "LTXConditionPipeline": "LTXImageToVideoPipeline",
    },
    scheduler="FlowMatchEulerDiscreteScheduler",
    model=LTX,
    words=words,
    blank_words=blank_words,
)
