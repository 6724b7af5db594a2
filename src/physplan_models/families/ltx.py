"""LTX-Video image-to-video: packed latents, a first latent that stays clean, a decoder that looks ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from physplan.video.base import EncodeWords, FamilyModel, Request, channel_stats, tiling, to_unit
from physplan.video.clocks import FLOW
from physplan.video.frames import FrameLayout
from physplan.video.keyframe_conditioning import touched
from physplan.video.noise import Flow
from physplan.video.protocol import Conditioning
from physplan_models.encoders import Encoders
from physplan_models.families.family import META, Family
from physplan_models.families.hints import Hinted, noised, tokens_seen


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


def tokens(run: Request) -> int:
    """Of the text: the library's two pipelines differ."""
    return 256 if run.keyframes else 128


def words(pipe: Any, encoders: Encoders) -> EncodeWords:
    """`text` [rows, tokens, C] and its `mask` [rows, tokens]."""

    def encode(run: Request) -> dict[str, Any]:
        from diffusers import LTXConditionPipeline

        with encoders.loaded():
            # It tells the text encoder which tokens are words, the other does not.
            asked = LTXConditionPipeline(**pipe.components) if run.keyframes else pipe
            text, mask, negative, negative_mask = asked.encode_prompt(
                run.prompt,
                run.negative_prompt,
                run.guided,
                max_sequence_length=tokens(run),
                device=encoders.device,
            )
        return {"text": run.rows(negative, text), "mask": run.rows(negative_mask, mask)}

    return encode


def without_padding(text: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Words alone: what the mask hides from every row has no weight, and costs time in every step.

    With keyframes the library pads to twice as many tokens.
    """
    seen = mask.bool().any(dim=0)
    if mask.is_meta or not seen.any():  # on shapes alone nothing can be left out
        return text, mask
    return text[:, seen], mask[:, seen]


def meta_words(pipe: Any) -> EncodeWords:
    channels = pipe.transformer.config.caption_channels

    def encode(run: Request) -> dict[str, Any]:
        shape = (run.branches, tokens(run))
        mask = torch.empty(*shape, dtype=torch.bool, device=META)
        return {"text": torch.empty(*shape, channels, device=META), "mask": mask}

    return encode


class LTX(FamilyModel):
    """Rectified flow with a shift that depends on the size; tokens of the picture have timestep 0."""

    name = "ltx"
    clocks = FLOW
    masks_words = True
    takes_hints = True
    preview_length = 5
    preview_mode = "centred"  # the decoder looks two latents ahead and two back
    jitter = 0.15  # as the library's pipeline has it

    def __init__(self, pipe: Any, encode: EncodeWords) -> None:
        self.pipe, self.encode = pipe, encode
        self.codec = LTXCodec(pipe.vae)
        self.denoiser = pipe.transformer
        self.side_multiple = self.codec.spatial_ratio * self.denoiser.config.patch_size
        self.patch = (self.denoiser.config.patch_size, self.denoiser.config.patch_size_t)

    @property
    def takes_keyframes(self) -> bool:
        """From 0.9.5 on, whose schedule does not depend on the size."""
        return not self.pipe.scheduler.config.use_dynamic_shifting

    def keyframe_places(self, layout: FrameLayout) -> Sequence[int]:
        return range(1, layout.num_frames) if self.takes_keyframes else ()

    def condition(self, run: Request) -> Conditioning:
        text, mask = without_padding(**self.encode(run))
        text, mask = text.to(self.device, self.dtype), mask.to(self.device)
        inputs = {"text": text, "mask": mask}
        if run.keyframes:
            return self._with_keyframes(run, inputs)
        picture = self._encoded(run, run.image)
        drawn = self._drawn(run, picture)
        self._set_timesteps(run, drawn)
        frames, height, width = drawn.shape[2:]
        ratio = self.codec.spatial_ratio
        scale = (self.codec.temporal_ratio / (run.fps or 25), ratio, ratio)
        size = {"num_frames": frames, "height": height, "width": width}
        return run.conditioning(
            latents=torch.cat([picture, drawn[:, :, 1:]], dim=2),
            noise=Flow.from_scheduler(self.pipe.scheduler, frozen=1),
            timesteps=self.pipe.scheduler.timesteps,
            inputs={
                **inputs,
                "places": {**size, "rope_interpolation_scale": scale},
                "jitter": None,
                "kept": (None,) * run.num_inference_steps,
                "hints": (),
            },
        )

    def _with_keyframes(self, run: Request, inputs: dict[str, Any]) -> Conditioning:
        """Keyframes are latents in front that belong to no frame, with a place in time of their own.

        They are all there, but the network sees only what is given of them: the tokens `kept`.
        """
        from diffusers.pipelines.ltx.pipeline_ltx_condition import linear_quadratic_schedule

        run = replace(run, layout=replace(run.layout, padding=len(run.keyframes)))
        sigmas = linear_quadratic_schedule(run.num_inference_steps)
        self.pipe.scheduler.set_timesteps(sigmas=sigmas, timesteps=sigmas * 1000)
        size = run.height // self.codec.spatial_ratio, run.width // self.codec.spatial_ratio
        shape = (1, self.codec.channels, run.layout.latents_of_video, *size)
        drawn = torch.randn(shape, generator=run.generator).to(self.device)
        picture, given = self._encoded(run, run.image), []
        for keyframe in run.keyframes:
            encoded = self._encoded(run, keyframe.image)
            noise = torch.randn(encoded.shape, generator=run.generator).to(encoded)
            given.append(noised(encoded, noise, keyframe.strength))
        latents = torch.cat([*given, picture, drawn[:, :, 1:]], dim=2)
        coordinates = self._coordinates(run, *size)
        strengths = tuple(keyframe.strength for keyframe in run.keyframes)
        return run.conditioning(
            latents=latents,
            noise=Hinted(
                sigmas=tuple(map(float, self.pipe.scheduler.sigmas)),
                frozen=1 + len(given),
                strengths=strengths,
            ),
            timesteps=self.pipe.scheduler.timesteps,
            inputs={
                **inputs,
                "places": {"video_coords": coordinates},
                "jitter": self._jitter(run, coordinates.shape[-1]),
                "kept": self._kept(run, *size),
                "hints": strengths,
            },
        )

    def _coordinates(self, run: Request, height: int, width: int) -> Tensor:
        """Second, row and column of every token, [1, 3, tokens]: keyframes first."""
        from diffusers import LTXConditionPipeline

        frames = [*((1, given.frame) for given in run.keyframes), (run.layout.latents_of_video, 0)]
        placed = []
        for count, first in frames:
            ids = LTXConditionPipeline._prepare_video_ids(1, count, height, width, *self.patch, self.device)
            ratios = self.codec.spatial_ratio, self.codec.temporal_ratio
            placed.append(LTXConditionPipeline._scale_video_ids(ids, *ratios, first, self.device))
        coordinates = torch.cat(placed, dim=2).float()
        coordinates[:, 0] = coordinates[:, 0] * (1.0 / (run.fps or 25))
        return coordinates

    def _kept(self, run: Request, height: int, width: int) -> tuple[Tensor | None, ...]:
        """By step, the places, in the row of all tokens, of those that the network sees; None: all."""
        grid = (height // self.patch[0], width // self.patch[0])
        seen = torch.ones(run.layout.num_latents // self.patch[1], *grid, dtype=torch.bool)
        for latent, given in zip(seen[: len(run.keyframes)], run.keyframes, strict=True):
            if given.where is not None:
                latent.copy_(touched(given.where, grid))
        shares = (n / run.num_inference_steps for n in range(run.num_inference_steps))
        found = [tokens_seen(seen, run.keyframes, share) for share in shares]
        return tuple(None if one is None else one.to(self.device) for one in found)

    def _jitter(self, run: Request, tokens: int) -> list[Tensor]:
        """Per step, the noise on what is given: less of it at later steps, so that things keep moving."""
        still = tokens // run.layout.num_latents * (1 + len(run.keyframes))
        channels = self.codec.channels * self.patch[0] ** 2 * self.patch[1]
        drawn = (
            torch.randn(1, tokens, channels, generator=run.generator) for _ in range(run.num_inference_steps)
        )
        return [noise[:, :still].to(self.device) for noise in drawn]

    def _encoded(self, run: Request, image: Any) -> Tensor:
        pixels = run.scaled(image, self.pipe.video_processor).to(self.device, self.dtype)
        return self.codec.encode_image(pixels, run.generator)

    def _drawn(self, run: Request, like: Tensor) -> Tensor:
        shape = (1, self.codec.channels, run.layout.num_latents, *like.shape[-2:])
        return torch.randn(shape, generator=run.generator).to(self.device)

    def _set_timesteps(self, run: Request, latents: Tensor) -> None:
        from diffusers.pipelines.ltx.pipeline_ltx_image2video import calculate_shift  # seconds to import

        config = self.pipe.scheduler.config
        shift = calculate_shift(
            latents[0, 0].numel(),
            config.get("base_image_seq_len", 256),
            config.get("max_image_seq_len", 4096),
            config.get("base_shift", 0.5),
            config.get("max_shift", 1.15),
        )
        sigmas = np.linspace(1.0, 1 / run.num_inference_steps, run.num_inference_steps)
        self.pipe.scheduler.set_timesteps(sigmas=sigmas, mu=shift)

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        text, mask = conditioning.inputs["text"][rows], conditioning.inputs["mask"][rows]
        now = conditioning.timesteps[n].to(latents.device)
        time = now * torch.ones_like(latents[:1, :1])
        time[:, :, : conditioning.noise.frozen] = 0
        for k, strength in enumerate(conditioning.inputs["hints"]):
            time[:, :, k] = now.clamp(max=1000 * (1 - strength))
        times = self.pipe._pack_latents(time, *self.patch).squeeze(-1)
        packed = self.pipe._pack_latents(latents, *self.patch)
        if (jitter := conditioning.inputs["jitter"]) is not None:
            still = packed[:, : jitter[n].shape[1]] + self.jitter * jitter[n] * (now / 1000) ** 2
            moves = times[:, : still.shape[1], None] > 0  # keyframes that are hints get none
            still = torch.where(moves, packed[:, : still.shape[1]], still)
            packed = torch.cat([still, packed[:, still.shape[1] :]], dim=1)
        every, kept = packed.shape[1], conditioning.inputs["kept"][n]
        if kept is not None:
            packed, times = packed[:, kept], times[:, kept]
        places = conditioning.inputs["places"]
        if "video_coords" in places:
            whole = places["video_coords"].expand(len(text), -1, -1)
            places = {"video_coords": whole if kept is None else whole[..., kept]}
        output: Tensor = self.denoiser(
            hidden_states=packed.to(self.dtype).expand(len(text), -1, -1),
            encoder_hidden_states=text,
            timestep=times.expand(len(text), -1),
            encoder_attention_mask=mask,
            **places,
            return_dict=False,
        )[0]
        if kept is not None:  # what the network has not seen stands still, as do all keyframes
            output = output.new_zeros(len(output), every, output.shape[-1]).index_copy(1, kept, output)
        unpacked: Tensor = self.pipe._unpack_latents(output.float(), *latents.shape[2:], *self.patch)
        return unpacked


FAMILY = Family(
    name=LTX.name,
    pipelines={
        "LTXImageToVideoPipeline": "LTXImageToVideoPipeline",
        "LTXPipeline": "LTXImageToVideoPipeline",
        "LTXConditionPipeline": "LTXImageToVideoPipeline",
    },
    scheduler="FlowMatchEulerDiscreteScheduler",
    scheduler_settings={"use_dynamic_shifting": True},
    model=LTX,
    words=words,
    meta_words=meta_words,
)
