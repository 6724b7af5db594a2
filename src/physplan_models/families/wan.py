"""Wan image-to-video: 2.1 (CLIP encoder), 2.2 A14B (two denoisers), 2.2 TI2V-5B (a clean first latent)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.base import EncodeWords, FamilyModel, Request, channel_stats, tiling, to_unit
from physplan.video.clocks import FLOW
from physplan.video.frames import FrameLayout
from physplan.video.noise import Flow
from physplan.video.protocol import Conditioning
from physplan_models.encoders import Encoders
from physplan_models.families.family import META, Family
from physplan_models.families.wan_checkpointing import WanCheckpointing


class WanCodec:
    """The causal 3-D autoencoder: the first frame alone, then four per latent. It clamps its output."""

    def __init__(self, vae: Any) -> None:
        self.vae = vae
        self.spatial_ratio = vae.config.scale_factor_spatial
        self.temporal_ratio = vae.config.scale_factor_temporal
        self.frame_multiple = self.temporal_ratio
        self.channels = vae.config.z_dim

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        latent: Tensor = self.vae.encode(image.to(self.vae.dtype).unsqueeze(2)).latent_dist.mode().float()
        mean, std = self._stats(latent)
        return (latent - mean) / std

    def encode_video(self, video: Tensor) -> Tensor:
        latents: Tensor = self.vae.encode(video.to(self.vae.dtype)).latent_dist.mode().float()
        mean, std = self._stats(latents)
        return (latents - mean) / std

    def decode(self, latents: Tensor, *, tiled: bool = False) -> Tensor:
        mean, std = self._stats(latents)
        with tiling(self.vae, tiled):
            return to_unit(self.vae.decode((latents * std + mean).to(self.vae.dtype)).sample)

    def _stats(self, like: Tensor) -> tuple[Tensor, Tensor]:
        config = self.vae.config
        return channel_stats(config.latents_mean, like), channel_stats(config.latents_std, like)


def words(pipe: Any, encoders: Encoders) -> EncodeWords:
    """`text` [rows, 512, C], and for 2.1 `seen` [pictures, tokens, C]: what is given, through CLIP."""

    def encode(run: Request) -> dict[str, Any]:
        pictures = [run.image, *(given.image for given in run.keyframes)]
        with encoders.loaded():
            text, negative = pipe.encode_prompt(
                run.prompt, run.negative_prompt, run.guided, max_sequence_length=512, device=encoders.device
            )
            looks = pipe.transformer.config.get("image_dim") is not None
            seen = pipe.encode_image(pictures, encoders.device) if looks else None
        return {"text": run.rows(negative, text), "seen": seen}

    return encode


def meta_words(pipe: Any) -> EncodeWords:
    config = pipe.transformer.config

    def encode(run: Request) -> dict[str, Any]:
        pictures, width = 1 + len(run.keyframes), config.get("image_dim")
        seen = None if width is None else torch.empty(pictures, 257, width, device=META)
        return {"text": torch.empty(run.branches, 512, config.text_dim, device=META), "seen": seen}

    return encode


def read_scheduler(config: dict[str, Any]) -> dict[str, Any]:
    """It is published with UniPC, whose step depends on those before; what that calls flow_shift is kept."""
    if "flow_shift" not in config:
        return config
    return {"shift": config["flow_shift"], "num_train_timesteps": config["num_train_timesteps"]}


def makes_videos(index: Mapping[str, Any]) -> bool:
    """TI2V-5B is published under the text-to-video pipeline's name; others of that name take no picture."""
    return index["_class_name"] != "WanPipeline" or bool(index.get("expand_timesteps"))


class OnWanCodec(FamilyModel):
    """Rectified flow on Wan's latents, by one denoiser or by two that take turns."""

    clocks = FLOW
    batched_guidance = False

    def __init__(self, pipe: Any, encode: EncodeWords) -> None:
        self.pipe, self.encode = pipe, encode
        self.codec = WanCodec(pipe.vae)
        self.denoiser = pipe.transformer
        patch = self.denoiser.config.get("patch_size", (1, 1))
        self.side_multiple = self.codec.spatial_ratio * patch[1]
        boundary = pipe.config.get("boundary_ratio")
        self.boundary = None if boundary is None else boundary * pipe.scheduler.config.num_train_timesteps
        if self.boundary is not None and pipe.transformer_2 is None:
            raise PhysPlanError(
                "This Wan model has a boundary_ratio but no transformer_2: use the complete folder."
            )

    @property
    def denoisers(self) -> list[Any]:
        second = getattr(self.pipe, "transformer_2", None)
        return [self.denoiser] if second is None else [self.denoiser, second]


class Wan(OnWanCodec):
    """The picture comes in as extra channels, or (5B) as a first latent that stays clean."""

    name = "wan"

    @cached_property
    def keeps_first(self) -> bool:
        return bool(self.pipe.config.get("expand_timesteps"))

    @property
    def needs_last(self) -> bool:
        """FLF2V's CLIP embedding has positions for two pictures."""
        return self.denoiser.config.pos_embed_seq_len is not None

    def keyframe_places(self, layout: FrameLayout) -> Sequence[int]:
        """The last frame; not in 5B, and in 2.1 only if its CLIP embedding has a place for it."""
        takes = self.needs_last or self.denoiser.config.image_dim is None
        return (layout.num_frames - 1,) if takes and not self.keeps_first else ()

    def condition(self, run: Request) -> Conditioning:
        if self.needs_last and not run.keyframes:
            raise PhysPlanError(
                "This Wan model goes from a first to a last frame: use the method conditioned."
            )
        last = [run.scaled(given.image, self.pipe.video_processor) for given in run.keyframes]
        encoded = {
            name: None if v is None else v.to(self.device, self.dtype) for name, v in self.encode(run).items()
        }
        self.pipe.scheduler.set_timesteps(run.num_inference_steps)
        latents, condition, *_ = self.pipe.prepare_latents(
            run.pixels(self.pipe.video_processor).to(self.device, torch.float32),
            batch_size=1,
            num_channels_latents=self.codec.channels,
            height=run.height,
            width=run.width,
            num_frames=run.layout.num_frames,
            dtype=torch.float32,
            device=self.device,
            generator=run.generator,
            last_image=last[0].to(self.device, torch.float32) if last else None,
        )
        if self.keeps_first:
            latents = torch.cat([condition, latents[:, :, 1:]], dim=2)
        return run.conditioning(
            latents=latents,
            noise=Flow.from_scheduler(self.pipe.scheduler, frozen=int(self.keeps_first)),
            timesteps=self.pipe.scheduler.timesteps,
            inputs={**encoded, "picture": None if self.keeps_first else condition.to(self.dtype)},
        )

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        text, seen = conditioning.inputs["text"][rows], conditioning.inputs["seen"]
        low_noise = self.boundary is not None and conditioning.timesteps[n] < self.boundary
        t = conditioning.timesteps[n].to(latents.device)
        batch = latents.to(self.dtype)
        if self.keeps_first:  # every token has a time of its own: 0 for those of the picture
            patch = self.denoiser.config.patch_size
            times = torch.ones_like(latents[:1, 0, :, :: patch[1], :: patch[2]]) * t
            times[:, 0] = 0
            time = times.flatten(1)
        else:
            batch = torch.cat([batch, conditioning.inputs["picture"]], dim=1)
            time = t.expand(1)
        denoiser = self.pipe.transformer_2 if low_noise else self.denoiser
        output: Tensor = denoiser(
            hidden_states=batch.expand(len(text), -1, -1, -1, -1),
            timestep=time.expand(len(text), *time.shape[1:]),
            encoder_hidden_states=text,
            encoder_hidden_states_image=seen,
            return_dict=False,
        )[0]
        return output.float()


FAMILY = Family(
    name=Wan.name,
    pipelines={
        "WanImageToVideoPipeline": "WanImageToVideoPipeline",
        "WanPipeline": "WanImageToVideoPipeline",
    },
    scheduler="FlowMatchEulerDiscreteScheduler",
    read_scheduler=read_scheduler,
    model=Wan,
    words=words,
    meta_words=meta_words,
    codec_checkpointing=WanCheckpointing,
    codec_dtype=torch.float32,  # its autoencoder needs the precision
    settings=("boundary_ratio", "expand_timesteps"),
    makes_videos=makes_videos,
)
