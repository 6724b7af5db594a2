"""HunyuanVideo Framepack: one section of it, from a first picture and, where given, to a last one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from diffusers.pipelines.hunyuan_video.pipeline_hunyuan_video_framepack import calculate_shift
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.base import EncodeWords, FamilyModel, Request
from physplan.video.clocks import FLOW
from physplan.video.frames import FrameLayout
from physplan.video.noise import Flow
from physplan.video.protocol import Conditioning
from physplan_models.encoders import Encoders
from physplan_models.families.family import META, Family
from physplan_models.families.hunyuan15 import Hunyuan15Codec, known_masks

HISTORY = (1, 2, 16)  # latents behind the section, seen whole, halved and quartered
MOST_FRAMES = 37  # the first picture's latent and the nine of a section
TEXT_TOKENS, PICTURE_TOKENS = 256, 729
MOST_SHIFT = math.log(7.0)


def check_section(name: str, num_frames: int) -> None:
    """Sections are drawn from the video's end; each needs those behind it clean."""
    if not 5 <= num_frames <= MOST_FRAMES:
        raise PhysPlanError(
            f"{name} draws one section here, of 5 to {MOST_FRAMES} frames, not {num_frames}: of several there"
            " are no latents of the whole video to repeat a step on until the last is drawn."
        )


class FramepackCodec(Hunyuan15Codec):
    """HunyuanVideo's autoencoder. A picture's latent is drawn, as the library draws it."""

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        drawn: Tensor = self.vae.encode(image.unsqueeze(2).to(self.vae.dtype)).latent_dist.sample(generator)
        return drawn.float() * float(self.vae.config.scaling_factor)


def words(pipe: Any, encoders: Encoders) -> EncodeWords:
    """`text` [1, 256, C], its `mask`, `pooled` [1, C], and `seen` [1, 729, C]: the first picture alone."""

    def encode(run: Request) -> dict[str, Any]:
        with encoders.loaded():
            text, pooled, mask = pipe.encode_prompt(
                run.prompt, device=encoders.device, max_sequence_length=TEXT_TOKENS
            )
            seen = pipe.encode_image(run.pixels(pipe.video_processor), encoders.device, torch.float32)
        return {"text": text, "mask": mask, "pooled": pooled, "seen": seen}

    return encode


def meta_words(pipe: Any) -> EncodeWords:
    config = pipe.transformer.config
    shapes = {
        "text": (1, TEXT_TOKENS, config.text_embed_dim),
        "mask": (1, TEXT_TOKENS),
        "pooled": (1, config.pooled_projection_dim),
        "seen": (1, PICTURE_TOKENS, config.image_proj_dim),
    }
    return lambda run: {name: torch.empty(shape, device=META) for name, shape in shapes.items()}


class Framepack(FamilyModel):
    """Rectified flow; the first picture is a clean first latent, the last one stands behind the section."""

    name = "framepack"
    clocks = FLOW

    def __init__(self, pipe: Any, encode: EncodeWords) -> None:
        self.pipe, self.encode = pipe, encode
        self.codec = FramepackCodec(pipe.vae)
        self.denoiser = pipe.transformer
        self.side_multiple = self.codec.spatial_ratio * self.denoiser.config.patch_size

    def check_size(self, *, height: int, width: int, num_frames: int) -> FrameLayout:
        check_section(self.name, num_frames)
        return super().check_size(height=height, width=width, num_frames=num_frames)

    def keyframe_places(self, layout: FrameLayout) -> Sequence[int]:
        return (layout.num_frames - 1,)

    def condition(self, run: Request) -> Conditioning:
        """The guidance scale is an input of the network, which is distilled: there is one branch."""
        encoded = {name: value.to(self.device, self.dtype) for name, value in self.encode(run).items()}
        pictures = (run.image, *(given.image for given in run.keyframes))
        pixels = (run.scaled(one, self.pipe.video_processor).to(self.device) for one in pictures)
        first, *last = (self.codec.encode_image(one, run.generator) for one in pixels)
        shape = (*first.shape[:2], run.layout.num_latents - 1, *first.shape[3:])
        drawn = torch.randn(shape, generator=run.generator).to(self.device)
        behind = [torch.zeros_like(first).expand(-1, -1, count, -1, -1) for count in HISTORY]
        near, halved, quartered = (one.to(self.dtype) for one in (*last, *behind[len(last) :]))
        places = torch.split(torch.arange(run.layout.num_latents + sum(HISTORY)), [1, shape[2], *HISTORY])
        self._schedule(run.num_inference_steps, math.prod(shape[2:]))
        return replace(run, guidance_scale=1.0).conditioning(
            latents=torch.cat([first, drawn], dim=2),
            noise=Flow.from_scheduler(self.pipe.scheduler, frozen=1),
            timesteps=self.pipe.scheduler.timesteps,
            inputs={
                "encoder_hidden_states": encoded["text"],
                "encoder_attention_mask": encoded["mask"],
                "pooled_projections": encoded["pooled"],
                "image_embeds": encoded["seen"],
                "guidance": 1000 * torch.full((1,), run.guidance_scale, dtype=self.dtype, device=self.device),
                "indices_latents": places[1],
                "latents_clean": torch.cat([first.to(self.dtype), near], dim=2),
                "indices_latents_clean": torch.cat([places[0], places[2]]),
                "latents_history_2x": halved,
                "indices_latents_history_2x": places[3],
                "latents_history_4x": quartered,
                "indices_latents_history_4x": places[4],
            },
        )

    def _schedule(self, steps: int, cells: int) -> None:
        scheduler = self.pipe.scheduler
        own = {
            "base_seq_len": "base_image_seq_len", "max_seq_len": "max_image_seq_len",
            "base_shift": "base_shift", "max_shift": "max_shift",
        }  # fmt: skip
        curve = {name: scheduler.config[theirs] for name, theirs in own.items() if theirs in scheduler.config}
        shift = calculate_shift(cells / self.denoiser.config.patch_size**2, **curve)
        scheduler.set_timesteps(sigmas=np.linspace(1.0, 0.0, steps + 1)[:-1], mu=min(shift, MOST_SHIFT))

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        given = latents[:, :, :1]
        with known_masks(latents.is_meta):
            output: Tensor = self.denoiser(
                hidden_states=latents[:, :, 1:].to(self.dtype),
                timestep=conditioning.timesteps[n].to(latents.device).expand(1),
                **conditioning.inputs,
                return_dict=False,
            )[0]
        return torch.cat([torch.zeros_like(given), output.float()], dim=2)


FAMILY = Family(
    name=Framepack.name,
    pipelines={"HunyuanVideoFramepackPipeline": "HunyuanVideoFramepackPipeline"},
    scheduler="FlowMatchEulerDiscreteScheduler",
    model=Framepack,
    words=words,
    meta_words=meta_words,
    encoders=(
        "tokenizer", "text_encoder", "tokenizer_2", "text_encoder_2", "image_encoder", "feature_extractor",
    ),
)  # fmt: skip
