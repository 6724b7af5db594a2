"""Wan VACE: pictures at any frames, whole or in part, grey and a white mask elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from physplan.video.base import Request
from physplan.video.frames import FrameLayout
from physplan.video.keyframe_conditioning import GivenFrame, touched
from physplan.video.noise import Flow
from physplan.video.protocol import Conditioning
from physplan_models.families.family import Family
from physplan_models.families.wan import OnWanCodec, meta_words, read_scheduler, words
from physplan_models.families.wan_checkpointing import WanCheckpointing

GREY = (128, 128, 128)


class WanVACE(OnWanCodec):
    """What is given comes in through layers of its own, beside the noisy latents."""

    name = "wan-vace"

    def keyframe_places(self, layout: FrameLayout) -> Sequence[int]:
        return range(1, layout.num_frames)

    def condition(self, run: Request) -> Conditioning:
        text = self.encode(run)["text"].to(self.device, self.dtype)
        self.pipe.scheduler.set_timesteps(run.num_inference_steps)
        given = self._given(run)
        drawn = self.pipe.prepare_latents(
            1,
            self.codec.channels,
            run.height,
            run.width,
            run.layout.num_frames,
            torch.float32,
            torch.device("cpu"),
            run.generator,
        )
        return run.conditioning(
            latents=drawn.to(self.device),
            noise=Flow.from_scheduler(self.pipe.scheduler),
            timesteps=self.pipe.scheduler.timesteps,
            inputs={"text": text, "given": given.to(self.dtype)},
        )

    def _given(self, run: Request) -> Tensor:
        """Latents of what is known and of what is not, and the mask that says which: [1, C, F, h, w]."""
        size = (run.width, run.height)
        grey, white = Image.new("RGB", size, GREY), Image.new("L", size, 255)
        frames, masks = [grey] * run.layout.num_frames, [white] * run.layout.num_frames
        for given in (GivenFrame(frame=0, image=run.image), *run.keyframes):
            unknown = masks[given.frame] = unknown_of(given, size)
            picture = given.image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
            frames[given.frame] = Image.composite(grey, picture, unknown)
        video, mask, _ = self.pipe.preprocess_conditions(
            frames, masks, None, 1, run.height, run.width, run.layout.num_frames, torch.float32, self.device
        )
        latents = self.pipe.prepare_video_latents(video, mask, [[]], run.generator, self.device)
        return torch.cat([latents, self.pipe.prepare_masks(mask, [[]], run.generator)], dim=1)

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        text, given = conditioning.inputs["text"][rows], conditioning.inputs["given"]
        low_noise = self.boundary is not None and conditioning.timesteps[n] < self.boundary
        denoiser = self.pipe.transformer_2 if low_noise else self.denoiser
        output: Tensor = denoiser(
            hidden_states=latents.to(self.dtype).expand(len(text), -1, -1, -1, -1),
            timestep=conditioning.timesteps[n].to(latents.device).expand(len(text)),
            encoder_hidden_states=text,
            control_hidden_states=given.expand(len(text), -1, -1, -1, -1),
            control_hidden_states_scale=given.new_ones(len(denoiser.config.vace_layers)),
            return_dict=False,
        )[0]
        return output.float()


def unknown_of(given: GivenFrame, size: tuple[int, int]) -> Image.Image:
    """White where nothing is given of a picture of this size (width, height)."""
    if given.where is None:
        return Image.new("L", size, 0)
    known = touched(given.where, size[::-1]).cpu().numpy()
    return Image.fromarray(np.where(known, 0, 255).astype(np.uint8))


FAMILY = Family(
    name=WanVACE.name,
    pipelines={"WanVACEPipeline": "WanVACEPipeline"},
    scheduler="FlowMatchEulerDiscreteScheduler",
    read_scheduler=read_scheduler,
    model=WanVACE,
    words=words,
    meta_words=meta_words,
    codec_checkpointing=WanCheckpointing,
    codec_dtype=torch.float32,
    settings=("boundary_ratio",),
)
