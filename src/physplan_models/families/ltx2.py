"""LTX-2 image-to-video: sound is denoised with the picture, as both attend to each other, and discarded.

The sound's latents lie behind the video's, in latents that belong to no frame: so they are noised, stepped
and saved with them, and a step may be repeated like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from physplan.video.base import EncodeWords, Request
from physplan.video.protocol import Conditioning
from physplan_models.encoders import Encoders
from physplan_models.families.family import META, Family
from physplan_models.families.hints import Hinted, noised
from physplan_models.families.ltx import LTX, LTXCodec

TEXT_TOKENS = 1024  # of the text


class LTX2Codec(LTXCodec):
    """One frame, then eight per latent."""

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        return self.encode_video(image.unsqueeze(2))


@dataclass(frozen=True, kw_only=True)
class Sound:
    """The shape of a run's sound: [1, channels, length, bins], tokens of channels * bins numbers."""

    channels: int
    length: int
    bins: int

    @property
    def numbers(self) -> int:
        return self.channels * self.length * self.bins

    def latents(self, like: Tensor) -> int:
        """As many latents shaped like `like` [1, C, F, h, w] hold it."""
        return -(-self.numbers // like[0, :, 0].numel())

    def packed(self, tokens: Tensor, like: Tensor) -> Tensor:
        """Tokens [rows, length, channels * bins] as latents [rows, C, n, h, w], filled up with zeros."""
        count, place = self.latents(like), like[0, :, 0]
        flat = F.pad(tokens.flatten(1), (0, count * place.numel() - self.numbers))
        return flat.view(len(tokens), count, *place.shape).transpose(1, 2)

    def tokens(self, latents: Tensor) -> Tensor:
        """The inverse of `packed`."""
        flat = latents.transpose(1, 2).flatten(1)[:, : self.numbers]
        return flat.view(len(latents), self.length, self.channels * self.bins)


def words(pipe: Any, encoders: Encoders) -> EncodeWords:
    """`text` and `heard` [rows, 1024, C] for picture and sound, their `mask`, and the picture's `crf`."""

    def encode(run: Request) -> dict[str, Any]:
        from diffusers.pipelines.ltx2.utils import resolve_default_image_crf

        with encoders.loaded():
            text, mask, negative, negative_mask = pipe.encode_prompt(
                run.prompt,
                run.negative_prompt,
                run.guided,
                max_sequence_length=TEXT_TOKENS,
                device=encoders.device,
            )
            told, heard, mask = pipe.connectors(
                run.rows(negative, text),
                run.rows(negative_mask, mask),
                padding_side=pipe.tokenizer.padding_side,
            )
            return {
                "text": told,
                "heard": heard,
                "mask": mask,
                "crf": resolve_default_image_crf(pipe.text_encoder),
            }

    return encode


def meta_words(pipe: Any) -> EncodeWords:
    config = pipe.transformer.config
    wide = config.num_attention_heads * config.attention_head_dim
    narrow = config.audio_num_attention_heads * config.audio_attention_head_dim
    captions = (config.caption_channels,) * 2 if config.use_prompt_embeddings else (wide, narrow)

    def encode(run: Request) -> dict[str, Any]:
        text, heard = (torch.empty(run.branches, TEXT_TOKENS, width, device=META) for width in captions)
        return {
            "text": text,
            "heard": heard,
            "mask": torch.empty(run.branches, TEXT_TOKENS, device=META),
            "crf": 0,
        }

    return encode


class LTX2(LTX):
    """Rectified flow; picture and sound are one run, of which the picture is kept."""

    name = "ltx-2"
    masks_words = True

    def __init__(self, pipe: Any, encode: EncodeWords) -> None:
        super().__init__(pipe, encode)
        self.codec = LTX2Codec(pipe.vae)
        heard = pipe.audio_vae
        self.sound_channels = 1 if heard is None else heard.config.latent_channels  # none on the meta device
        pipe.audio_vae = None  # its shape is all that a video needs

    @property
    def takes_keyframes(self) -> bool:
        return True

    def condition(self, run: Request) -> Conditioning:
        encoded = self.encode(run)
        inputs = {name: encoded[name].to(self.device) for name in ("text", "heard", "mask")}
        given = [self._encoded(run, as_trained(one.image, encoded["crf"])) for one in run.keyframes]
        picture = self._encoded(run, as_trained(run.image, encoded["crf"]))
        run = replace(run, layout=replace(run.layout, padding=len(given)))
        drawn, noise = (
            self._drawn_with(run, picture, len(given)) if given else (self._drawn(run, picture), None)
        )
        clean, strengths = given, tuple(one.strength for one in run.keyframes)
        if noise is not None:
            given = [
                noised(clean[k], noise[:, :, k : k + 1], strength) for k, strength in enumerate(strengths)
            ]
        sound = self._sound(run)
        heard = self._heard(run, sound)
        video = torch.cat([*given, picture, drawn[:, :, 1:]], dim=2)
        self._set_timesteps(run, video)
        hearing = self.denoiser.audio_rope
        kept = self._kept(run, *picture.shape[-2:])
        places = self._places(run, *picture.shape[-2:])
        run = replace(run, layout=replace(run.layout, behind=sound.latents(drawn)))
        return run.conditioning(
            latents=torch.cat([video, sound.packed(heard, drawn)], dim=2),
            noise=Hinted(
                sigmas=tuple(map(float, self.pipe.scheduler.sigmas)),
                frozen=1 + len(given),
                strengths=strengths,
                clean=torch.cat(clean, dim=2) if clean else None,
            ),
            timesteps=self.pipe.scheduler.timesteps,
            inputs={
                **inputs,
                "sound": sound,
                "places": places,
                "kept": kept,
                "hints": strengths,
                "moments": hearing.prepare_audio_coords(1, sound.length, self.device),
            },
        )

    def _set_timesteps(self, run: Request, latents: Tensor) -> None:
        """A distilled checkpoint is trained on eight sigmas: its scheduler says that they are not shifted.
        Other numbers of steps go along the same curve."""
        if self.pipe.scheduler.config.use_dynamic_shifting:
            super()._set_timesteps(run, latents)
            return
        from diffusers.pipelines.ltx2.utils import DISTILLED_SIGMA_VALUES

        curve = [*DISTILLED_SIGMA_VALUES, 0.0]
        at = np.linspace(0, len(DISTILLED_SIGMA_VALUES), run.num_inference_steps + 1)[:-1]
        self.pipe.scheduler.set_timesteps(sigmas=np.interp(at, range(len(curve)), curve))

    def _drawn_with(self, run: Request, like: Tensor, given: int) -> tuple[Tensor, Tensor]:
        """The library draws noise token by token where keyframes are given, and some for each of them."""
        frames, (height, width) = run.layout.latents_of_video, like.shape[-2:]
        cells = height // self.patch[0] * (width // self.patch[0])
        rows = frames // self.patch[1] * cells
        channels = self.codec.channels * self.patch[0] ** 2 * self.patch[1]
        noise = torch.randn(1, rows + given * cells, channels, generator=run.generator).to(self.device)
        unpack = self.pipe._unpack_latents
        of_keyframes = unpack(noise[:, rows:], given * self.patch[1], height, width, *self.patch)
        return unpack(noise[:, :rows], frames, height, width, *self.patch), of_keyframes

    def _heard(self, run: Request, sound: Sound) -> Tensor:
        """Noise of the sound's tokens, in the order of the pipeline that would be asked."""
        if run.keyframes:
            packed = (1, sound.length, sound.channels * sound.bins)
            return torch.randn(packed, generator=run.generator).to(self.device)
        shape = (1, sound.channels, sound.length, sound.bins)
        heard: Tensor = self.pipe._pack_audio_latents(torch.randn(shape, generator=run.generator))
        return heard.to(self.device)

    def _places(self, run: Request, height: int, width: int) -> Tensor:
        """Seconds, rows and columns in which each token begins and ends, [1, 3, tokens, 2]: keyframes first.

        A keyframe lasts one frame, whatever its latent holds.
        """
        fps, place = run.fps or 24, self.denoiser.rope.prepare_video_coords
        whole = place(1, run.layout.latents_of_video, height, width, self.device, fps=fps)
        one = place(1, 1, height, width, self.device, fps=fps)
        placed = []
        for given in run.keyframes:
            placed.append(one.clone())
            placed[-1][:, 0] += given.frame / fps
        return torch.cat([*placed, whole], dim=2)

    def _sound(self, run: Request) -> Sound:
        pipe = self.pipe
        per_second = (
            pipe.audio_sampling_rate / pipe.audio_hop_length / pipe.audio_vae_temporal_compression_ratio
        )
        length = round(run.layout.num_frames / (run.fps or 24) * per_second)
        bins = self.denoiser.config.audio_in_channels // self.sound_channels
        return Sound(channels=self.sound_channels, length=length, bins=bins)

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        inputs, sound, layout = conditioning.inputs, conditioning.inputs["sound"], conditioning.layout
        text, heard, mask = (inputs[name][rows] for name in ("text", "heard", "mask"))
        video, kept = latents[:, :, : layout.video.stop], inputs["kept"][n]  # keyframes stand in front
        tokens = self.pipe._pack_latents(video, *self.patch)
        # No term is heard: without gradient, guidance leaves the sound alone.
        hearing = sound.tokens(latents[:, :, layout.video.stop :].detach())
        now = conditioning.timesteps[n].to(latents.device).expand(len(text))
        known = torch.zeros_like(video[:1, :1])
        known[:, :, : conditioning.noise.frozen] = 1
        for k, strength in enumerate(inputs["hints"]):
            known[:, :, k] = strength
        known = self.pipe._pack_latents(known, *self.patch).squeeze(-1)
        every = tokens.shape[1]
        if kept is not None:
            tokens, known = tokens[:, kept], known[:, kept]
        seen_places = inputs["places"] if kept is None else inputs["places"][:, :, kept]
        places = {"video_coords": seen_places, "audio_coords": inputs["moments"]}
        seen, drawn = self.denoiser(
            hidden_states=tokens.to(self.dtype).expand(len(text), -1, -1),
            audio_hidden_states=hearing.to(self.dtype).expand(len(text), -1, -1),
            encoder_hidden_states=text.to(self.dtype),
            audio_encoder_hidden_states=heard.to(self.dtype),
            timestep=now[:, None] * (1 - known),
            audio_timestep=now,
            sigma=now,
            encoder_attention_mask=mask,
            audio_encoder_attention_mask=mask,
            **{name: one.expand(len(text), *one.shape[1:]) for name, one in places.items()},
            use_cross_timestep=self.denoiser.config.cross_attn_mod,  # from 2.3 on
            return_dict=False,
        )
        if kept is not None:  # what the network has not seen stands still, as do all keyframes
            seen = seen.new_zeros(len(seen), every, seen.shape[-1]).index_copy(1, kept, seen)
        unpacked = self.pipe._unpack_latents(seen.float(), *video.shape[2:], *self.patch)
        return torch.cat([unpacked, sound.packed(drawn.float(), video)], dim=2)


def as_trained(picture: Image.Image, crf: int) -> Image.Image:
    """The model has seen only pictures that were compressed as video: so the library compresses them."""
    if crf == 0:
        return picture
    from diffusers.pipelines.ltx2.utils import apply_image_conditioning_crf

    return Image.fromarray(apply_image_conditioning_crf(np.array(picture.convert("RGB")), crf))


FAMILY = Family(
    name=LTX2.name,
    pipelines={
        "LTX2ImageToVideoPipeline": "LTX2ImageToVideoPipeline",
        "LTX2Pipeline": "LTX2ImageToVideoPipeline",
        "LTX2ConditionPipeline": "LTX2ImageToVideoPipeline",
    },
    scheduler="FlowMatchEulerDiscreteScheduler",
    scheduler_settings={"use_dynamic_shifting": True},
    model=LTX2,
    words=words,
    meta_words=meta_words,
    encoders=("tokenizer", "text_encoder", "connectors", "audio_vae", "vocoder"),
    unused=("vocoder", "processor", "prompt_enhancer", "duration_head"),
)
