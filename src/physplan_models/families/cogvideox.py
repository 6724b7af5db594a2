"""CogVideoX image-to-video, 1.0 and 1.5; with another codec and text encoder it is the sandbox's model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import torch
from diffusers.models.embeddings import get_3d_rotary_pos_embed
from diffusers.video_processor import VideoProcessor
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.base import Codec, FamilyModel, Request, tiling, to_unit
from physplan.video.clocks import Clocks
from physplan.video.frames import FrameLayout
from physplan.video.noise import VariancePreserving
from physplan.video.protocol import Conditioning
from physplan_models.encoders import Encoders
from physplan_models.families.family import META, Family

EncodeText = Callable[[list[str]], Tensor]  # prompts to embeddings [len(prompts), tokens, channels]


class CogVideoXCodec:
    """The causal 3-D autoencoder: the first frame alone, then four frames per latent."""

    def __init__(self, vae: Any) -> None:
        self.vae = vae
        self.spatial_ratio = 2 ** (len(vae.config.block_out_channels) - 1)
        self.temporal_ratio = int(vae.config.temporal_compression_ratio)
        self.frame_multiple = 2 * self.temporal_ratio  # an even number of latents decodes to too many frames
        self.channels = vae.config.latent_channels

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        posterior = self.vae.encode(image.to(self.vae.dtype).unsqueeze(2)).latent_dist
        latent: Tensor = posterior.sample(generator)
        scale: float = self.vae.config.scaling_factor
        # 1.5 was trained with the scale the wrong way round.
        return latent / scale if self.vae.config.invert_scale_latents else latent * scale

    def encode_video(self, video: Tensor) -> Tensor:
        latents: Tensor = self.vae.encode(video.to(self.vae.dtype)).latent_dist.mode().float()
        return latents * float(self.vae.config.scaling_factor)

    def decode(self, latents: Tensor, *, tiled: bool = False) -> Tensor:
        scaled = (latents / self.vae.config.scaling_factor).to(self.vae.dtype)
        with tiling(self.vae, tiled):
            return to_unit(self.vae.decode(scaled).sample)


def words(pipe: Any, encoders: Encoders) -> EncodeText:
    """The pipeline's own text encoder, one prompt at a time as the library does it."""

    def encode_text(prompts: list[str]) -> Tensor:
        length = pipe.transformer.config.max_text_seq_length
        with encoders.loaded():
            coded = [
                pipe.encode_prompt(p, None, False, max_sequence_length=length, device=encoders.device)[0]
                for p in prompts
            ]
        return torch.cat(coded)

    return encode_text


def meta_words(pipe: Any) -> EncodeText:
    config = pipe.transformer.config

    def encode_text(prompts: list[str]) -> Tensor:
        return torch.empty(len(prompts), config.max_text_seq_length, config.text_embed_dim, device=META)

    return encode_text


class CogVideoX(FamilyModel):
    """v-prediction, zero terminal SNR; the picture's latent is concatenated to the noisy ones by channel."""

    name = "cogvideox"
    clocks = Clocks(weak=0.08, strong=0.18)  # Time-to-Move
    has_dynamic_cfg = True

    def __init__(self, *, transformer: Any, scheduler: Any, codec: Codec, encode_text: EncodeText) -> None:
        self.denoiser = transformer
        self.scheduler = scheduler
        self.codec = codec
        self.encode_text = encode_text
        self.processor = VideoProcessor(vae_scale_factor=codec.spatial_ratio)
        self.side_multiple = codec.spatial_ratio * transformer.config.patch_size

    @classmethod
    def from_pipeline(cls, pipe: Any, encode_text: EncodeText) -> Self:
        codec = CogVideoXCodec(pipe.vae)
        return cls(
            transformer=pipe.transformer, scheduler=pipe.scheduler, codec=codec, encode_text=encode_text
        )

    def check_size(self, *, height: int, width: int, num_frames: int) -> FrameLayout:
        layout = super().check_size(height=height, width=width, num_frames=num_frames)
        config, ratio = self.denoiser.config, self.codec.spatial_ratio
        fixed = config.sample_height * ratio, config.sample_width * ratio
        if config.use_learned_positional_embeddings and (height, width) != fixed:
            raise PhysPlanError(
                f"This {self.name} learned its positions at one size: use height {fixed[0]} and width"
                f" {fixed[1]}, not {height} and {width}."
            )
        return replace(layout, padding=-layout.num_latents % (config.patch_size_t or 1))

    def condition(self, run: Request) -> Conditioning:
        prompts = [run.negative_prompt, run.prompt] if run.guided else [run.prompt]
        text = self.encode_text(prompts).to(self.device, self.dtype)
        pixels = run.pixels(self.processor).to(self.device, self.dtype)
        picture = self.codec.encode_image(pixels, run.generator).to(self.device, self.dtype)
        drawn = run.draw_by_frame(picture).to(self.device, torch.float32)
        self.scheduler.set_timesteps(run.num_inference_steps)
        times = self.scheduler.timesteps
        dynamic = [dynamic_scale(run.guidance_scale, int(t), len(times)) for t in times]
        return run.conditioning(
            latents=drawn * self.scheduler.init_noise_sigma,
            noise=VariancePreserving.from_scheduler(self.scheduler, eta=run.eta),
            timesteps=times,
            guidance=dynamic if run.use_dynamic_cfg else None,
            inputs={
                "text": text,
                "picture": torch.cat([picture, torch.zeros_like(drawn[:, :, 1:], dtype=self.dtype)], dim=2),
                "rotary": self._rotary(run.height, run.width, run.layout.num_latents),
            },
        )

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        text = conditioning.inputs["text"][rows]
        joined = torch.cat([latents.to(self.dtype), conditioning.inputs["picture"]], dim=1).transpose(1, 2)
        batch = joined.expand(len(text), -1, -1, -1, -1)
        offset = None if self.denoiser.config.ofs_embed_dim is None else joined.new_full((1,), 2.0)
        output: Tensor = self.denoiser(
            hidden_states=batch,
            encoder_hidden_states=text,
            timestep=conditioning.timesteps[n].to(text.device).expand(len(text)),
            ofs=offset,
            image_rotary_emb=conditioning.inputs["rotary"],
            return_dict=False,
        )[0]
        return output.float().transpose(1, 2)

    def _rotary(self, height: int, width: int, num_latents: int) -> tuple[Tensor, Tensor] | None:
        """Rotary positions: 1.0 resizes and crops its training grid, 1.5 cuts a piece out of it."""
        config = self.denoiser.config
        if not config.use_rotary_positional_embeddings:
            return None
        grid = height // self.side_multiple, width // self.side_multiple
        base = config.sample_height // config.patch_size, config.sample_width // config.patch_size
        common = {"embed_dim": config.attention_head_dim, "grid_size": grid, "device": self.device}
        if config.patch_size_t is None:
            crop: Any = ((0, 0), grid)
            if grid != base:  # not at the top of the file: this module takes seconds to import
                from diffusers.pipelines.cogvideo import pipeline_cogvideox_image2video as library

                crop = library.get_resize_crop_region_for_grid(grid, base[1], base[0])
            frequencies = get_3d_rotary_pos_embed(crops_coords=crop, temporal_size=num_latents, **common)
        else:
            steps = -(-num_latents // config.patch_size_t)
            frequencies = get_3d_rotary_pos_embed(
                crops_coords=None, temporal_size=steps, grid_type="slice", max_size=base, **common
            )
        cosine, sine = frequencies
        return cosine, sine


def dynamic_scale(scale: float, timestep: int, num_steps: int) -> float:
    """CogVideoX's dynamic classifier-free guidance."""
    return 1 + scale * (1 - math.cos(math.pi * ((num_steps - timestep) / num_steps) ** 5)) / 2


FAMILY = Family(
    name=CogVideoX.name,
    pipelines={"CogVideoXImageToVideoPipeline": "CogVideoXImageToVideoPipeline"},
    scheduler="CogVideoXDDIMScheduler",
    scheduler_settings={"prediction_type": "v_prediction"},
    model=CogVideoX.from_pipeline,
    words=words,
    meta_words=meta_words,
)
