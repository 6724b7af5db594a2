"""The sandbox's video model: CogVideoX's noise schedule, one latent per frame, denoisers by noise level."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from diffusers import CogVideoXDDIMScheduler
from diffusers.video_processor import VideoProcessor
from PIL.Image import Image
from torch import Tensor
from transformers import PreTrainedTokenizerFast, T5EncoderModel

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel, Request, to_unit
from physplan.video.clocks import Clocks
from physplan.video.frames import FrameLayout
from physplan.video.noise import VariancePreserving
from physplan.video.protocol import Conditioning
from physplan_sandbox.models.autoencoder import CELL_SIZE, FrameAutoencoder
from physplan_sandbox.models.by_frame import by_frame
from physplan_sandbox.models.contour import PAIR_NOISE_SCALE, to_full_rate, to_half_rate
from physplan_sandbox.models.copying import BLOCK_STRIDE
from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.models.int8_weights import WEIGHTS_NAME, load_packed
from physplan_sandbox.models.outcome_code import sample_outcome_code
from physplan_sandbox.models.outline import (
    BLOCK_NOISE_SCALE,
    BLOCK_SIZE,
    HANDOFF_TIMESTEP,
    OutlineNet,
    downsample,
    upsample,
)
from physplan_sandbox.models.residual_prediction import ResidualStats
from physplan_sandbox.models.text import encode_prompts
from physplan_sandbox.world.render import FRAMES

VIDEO_SIZE = 96


class SandboxCodec:
    """Per-frame autoencoder behind the codec protocol."""

    spatial_ratio = CELL_SIZE
    temporal_ratio = 1
    frame_multiple = 1

    def __init__(self, autoencoder: FrameAutoencoder) -> None:
        self.autoencoder = autoencoder
        self.channels = autoencoder.channels
        self.drawn = int(autoencoder.config.drawn)
        self.spread = ResidualStats.of(autoencoder.departs, autoencoder.departs_moving)
        self.outlines = ResidualStats.of(autoencoder.outlines, autoencoder.outlines_moving)

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        return self.autoencoder.encode(image.unsqueeze(2))

    def encode_video(self, video: Tensor) -> Tensor:
        return self.autoencoder.encode(video)

    def blocks(self, picture: Tensor) -> Tensor:
        """Blocks of the first frame that can be copied, from its latent [B, C, 1, h, w]."""
        return self.autoencoder.blocks(self.autoencoder.picture(picture[:, :, 0]), BLOCK_STRIDE)

    def decode(self, latents: Tensor, *, tiled: bool = False) -> Tensor:
        """Latents to frames in [0, 1]; `tiled` is ignored, as frames are small."""
        return to_unit(self.autoencoder.decode(latents))


class SandboxVideo(FamilyModel):
    """Image-to-video model of the sandbox: 33 frames of 96 x 96 pixels."""

    name = "sandbox"
    # Chosen on validation scenes; the model is small, and a late strong clock leaves it little to spoil.
    clocks = Clocks(weak=0.6, strong=0.9)
    preview_length = 1
    has_eta = True

    def __init__(
        self,
        *,
        drawing: DrawingNet,
        outline: OutlineNet,
        contour: DrawingNet,
        scheduler: CogVideoXDDIMScheduler,
        codec: SandboxCodec,
        encode_text: Callable[[list[str]], Tensor],
    ) -> None:
        self.denoiser: Any = drawing  # what things look like, under little noise
        self.outline = outline  # what goes where, under much
        self.contour = contour  # and the shape of that
        self.scheduler = scheduler
        self.codec: SandboxCodec = codec
        self.encode_text = encode_text
        self.processor = VideoProcessor(vae_scale_factor=CELL_SIZE)
        self.side_multiple = CELL_SIZE * BLOCK_SIZE

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """A diffusers folder: outline (int8), contour, drawing, autoencoder, text encoder and scheduler."""
        folder = Path(folder)
        needed = (
            folder / "outline" / "config.json",
            folder / "outline" / WEIGHTS_NAME,
            folder / "contour" / "config.json",
            folder / "drawing" / "config.json",
        )
        if not all(file.exists() for file in needed):
            raise PhysPlanError(
                f"{folder} holds no sandbox video model: train one with `python -m physplan_sandbox.train`."
            )
        full = {"torch_dtype": torch.float32}
        drawing = DrawingNet.from_pretrained(folder / "drawing", **full)
        contour = DrawingNet.from_pretrained(folder / "contour", **full)
        outline = load_packed(OutlineNet, folder / "outline")
        autoencoder = FrameAutoencoder.from_pretrained(folder / "autoencoder", **full)
        encoder = T5EncoderModel.from_pretrained(folder / "text_encoder", dtype=torch.float32)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder / "tokenizer")
        for model in (drawing, contour, outline, autoencoder, encoder):
            model.eval().requires_grad_(False)
        return cls(
            drawing=drawing,
            outline=outline,
            contour=contour,
            scheduler=CogVideoXDDIMScheduler.from_pretrained(folder / "scheduler"),
            codec=SandboxCodec(autoencoder),
            encode_text=lambda prompts: encode_prompts(tokenizer, encoder, prompts),
        )

    def check_size(self, *, height: int, width: int, num_frames: int) -> FrameLayout:
        if (height, width, num_frames) != (VIDEO_SIZE, VIDEO_SIZE, FRAMES):
            raise PhysPlanError(
                f"The sandbox model makes {FRAMES} frames of {VIDEO_SIZE} x {VIDEO_SIZE} pixels: use these "
                f"for num_frames, height and width, not {num_frames}, {height} and {width}."
            )
        return super().check_size(height=height, width=width, num_frames=num_frames)

    def condition(self, run: Request) -> Conditioning:
        prompts = [run.negative_prompt, run.prompt] if run.guided else [run.prompt]
        picture = self.codec.encode_image(run.pixels(self.processor), run.generator).to(self.device)
        latents = run.draw_by_frame(picture).to(self.device)
        self.scheduler.set_timesteps(run.num_inference_steps)
        return run.conditioning(
            latents=latents,
            noise=VariancePreserving.from_scheduler(self.scheduler, eta=run.eta),
            timesteps=self.scheduler.timesteps,
            inputs={
                "text": self.encode_text(prompts).to(self.device),
                "picture": picture,
                "blocks": self.codec.blocks(picture),
                "outcome_code": outcome_code_for(run.image, latents)[None].to(self.device),
            },
        )

    def undecided(self, conditioning: Conditioning) -> Conditioning:
        """The outcome code unknown: where guidance decides what happens, a drawn code would contradict it."""
        unknown = torch.zeros_like(conditioning.inputs["outcome_code"])
        return replace(conditioning, inputs={**conditioning.inputs, "outcome_code": unknown})

    @property
    def denoisers(self) -> list[Any]:
        return [self.outline, self.contour, self.denoiser]

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        """v-prediction from the clean residual of the drawn channels
        (`physplan_sandbox.models.residual_prediction`); the other channels hold the first frame, so their v
        is known."""
        drawn, sigma = self.codec.drawn, conditioning.noise.sigma(n)
        alpha, picture = conditioning.noise.alpha(n), conditioning.inputs["picture"]
        start, noisy = picture[:, :drawn], latents[:, :drawn] - alpha * picture[:, :drawn]
        if int(conditioning.timesteps[n]) >= HANDOFF_TIMESTEP:
            outlines = self._outlined(noisy, start, n, conditioning, rows)
            residual = self._contoured(noisy, outlines, picture, n, conditioning)
        else:
            residual = self._drawn(noisy, picture, n, conditioning)
        residual = F.pad(residual[:, :, 1:], (0, 0, 0, 0, 1, 0))  # the first frame is the picture
        moving = (alpha * noisy - residual) / sigma - sigma * start  # v = alpha xi - sigma z0
        known = (alpha * latents[:, drawn:] - picture[:, drawn:]) / sigma
        branches = len(conditioning.inputs["text"][rows])
        return torch.cat([moving.expand(branches, -1, -1, -1, -1), known.expand(branches, -1, -1, -1, -1)], 1)

    def _outlined(
        self, noisy: Tensor, picture: Tensor, n: int, conditioning: Conditioning, rows: slice
    ) -> Tensor:
        """Residual at full size for each prompt branch."""
        text, batch = conditioning.inputs["text"][rows], len(conditioning.inputs["text"][rows])
        alpha, sigma = conditioning.noise.alpha(n), BLOCK_NOISE_SCALE * conditioning.noise.sigma(n)
        found = self.outline(
            downsample(noisy).expand(batch, -1, -1, -1, -1),
            picture[:, :, 0].expand(batch, -1, -1, -1),
            conditioning.inputs["blocks"].expand(batch, -1, -1, -1),
            conditioning.timesteps[n].expand(batch),
            text,
            self.codec.outlines,
            torch.full((batch,), alpha, device=noisy.device),
            torch.full((batch,), sigma, device=noisy.device),
            conditioning.inputs["outcome_code"].expand(batch, -1),
        )
        return upsample(found)

    def _contoured(
        self, noisy: Tensor, outlines: Tensor, picture: Tensor, n: int, conditioning: Conditioning
    ) -> Tensor:
        """Contour prediction for each branch, given its outlines."""
        both = torch.cat([noisy.expand(len(outlines), -1, -1, -1, -1), outlines], dim=1)
        sigma = PAIR_NOISE_SCALE * conditioning.noise.sigma(n)
        return to_full_rate(self._by_frame(self.contour, to_half_rate(both), picture, sigma, n, conditioning))

    def _drawn(self, noisy: Tensor, picture: Tensor, n: int, conditioning: Conditioning) -> Tensor:
        """Drawing prediction; unconditional, as the layout is settled."""
        sigma = conditioning.noise.sigma(n)
        return self._by_frame(self.denoiser, noisy, picture, sigma, n, conditioning)

    def _by_frame(
        self,
        network: DrawingNet,
        noisy: Tensor,
        picture: Tensor,
        sigma: float,
        n: int,
        conditioning: Conditioning,
    ) -> Tensor:
        """A per-frame network on clips [B, C, F, h, w]; further channels, if any, are outlines."""
        batch, alpha = len(noisy), conditioning.noise.alpha(n)

        def answer(clips: Tensor, frames: Tensor) -> Tensor:
            parts = clips.chunk(clips.shape[1] // self.codec.drawn, dim=1)
            seen, *outlined = (network.neighbours(part, frames) for part in parts)
            many = len(seen)
            found: Tensor = network(
                seen,
                picture[:, :, 0].expand(many, -1, -1, -1),
                conditioning.inputs["blocks"],
                conditioning.timesteps[n].expand(many),
                self.codec.spread,
                torch.full((many,), alpha, device=clips.device),
                torch.full((many,), sigma, device=clips.device),
                outlines=outlined[0] if outlined else None,
            )
            return found.view(batch, -1, *found.shape[1:]).transpose(1, 2)

        return by_frame(answer, noisy)


def outcome_code_for(picture: Image, noise: Tensor) -> Tensor:
    """Outcome code of a video, seeded by picture and noise; uses no state of the caller's generator."""
    seen = (picture.tobytes(), noise.contiguous().numpy().tobytes())
    return sample_outcome_code(np.random.default_rng([zlib.crc32(part) for part in seen]))
