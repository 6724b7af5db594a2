"""The sandbox's video model: CogVideoX's denoiser and noise, with an autoencoder that a CPU can afford."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Self

import torch
from diffusers import CogVideoXDDIMScheduler, CogVideoXTransformer3DModel
from torch import Tensor
from transformers import PreTrainedTokenizerFast, T5EncoderModel

from physplan.errors import PhysPlanError
from physplan.sandbox.models.autoencoder import GROUP, FrameGroupAutoencoder
from physplan.sandbox.models.departures import Spread
from physplan.sandbox.models.text import encode_prompts
from physplan.sandbox.world.render import FRAMES
from physplan.video.families.base import Request, to_unit
from physplan.video.families.cogvideox import CogVideoX
from physplan.video.frames import FrameLayout, Window
from physplan.video.protocol import Conditioning

SIZE = 96


class SandboxCodec:
    """Groups of four frames, each decoded by itself."""

    spatial_ratio = 8
    temporal_ratio = GROUP
    frame_multiple = GROUP

    def __init__(self, autoencoder: FrameGroupAutoencoder) -> None:
        self.autoencoder = autoencoder
        self.channels = int(autoencoder.config.latent_channels)
        self.spread = Spread.of(autoencoder.departs, autoencoder.departs_moving)

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        return self.autoencoder.encode(image.unsqueeze(2))

    def encode_video(self, video: Tensor) -> Tensor:
        return self.autoencoder.encode(video)

    def decode(self, latents: Tensor, *, tiled: bool = False) -> Tensor:
        """Small enough that tiles would save nothing."""
        return to_unit(self.autoencoder.decode(latents))


class SandboxVideo(CogVideoX):
    """Trained on 33 frames of 96 x 96 pixels of the small world, and on nothing else."""

    name = "sandbox"
    preview_length = 2
    has_eta = True  # chosen for it; the library's CogVideoX draws no noise in its steps

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """A folder with transformer, scheduler, autoencoder, text_encoder and tokenizer, as diffusers lays
        them out."""
        folder = Path(folder)
        if not (folder / "transformer" / "config.json").exists():
            raise PhysPlanError(
                f"{folder} holds no sandbox video model:"
                " train one with `python -m physplan.sandbox.train video`."
            )
        full = {"torch_dtype": torch.float32}
        transformer = CogVideoXTransformer3DModel.from_pretrained(folder / "transformer", **full)
        autoencoder = FrameGroupAutoencoder.from_pretrained(folder / "autoencoder", **full)
        encoder = T5EncoderModel.from_pretrained(folder / "text_encoder", dtype=torch.float32)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder / "tokenizer")
        for model in (transformer, autoencoder, encoder):
            model.eval().requires_grad_(False)
        return cls(
            transformer=transformer,
            scheduler=CogVideoXDDIMScheduler.from_pretrained(folder / "scheduler"),
            codec=SandboxCodec(autoencoder),
            encode_text=lambda prompts: encode_prompts(tokenizer, encoder, prompts),
        )

    def check_size(self, *, height: int, width: int, num_frames: int) -> FrameLayout:
        if (height, width, num_frames) != (SIZE, SIZE, FRAMES):
            raise PhysPlanError(
                f"The sandbox model makes {FRAMES} frames of {SIZE} x {SIZE} pixels: use height {SIZE},"
                f" width {SIZE} and num_frames {FRAMES}, not {height}, {width} and {num_frames}."
            )
        return super().check_size(height=height, width=width, num_frames=num_frames)

    def condition(self, run: Request) -> Conditioning:
        """The picture stands beside every latent, not only the first."""
        found = super().condition(run)
        picture = found.inputs["picture"][:, :, :1].expand_as(found.latents)
        return replace(found, inputs={**found.inputs, "picture": picture, "fine": self._fine(picture)})

    def with_sketch(self, conditioning: Conditioning, clean: Tensor, masks: Tensor) -> Conditioning:
        """Where a sketch speaks, fine channels are borrowed from it, not from the picture."""
        fine = torch.where(masks.to(clean.device), self._fine(clean), conditioning.inputs["fine"])
        return replace(conditioning, inputs={**conditioning.inputs, "fine": fine})

    def _fine(self, latents: Tensor) -> Tensor:
        assert isinstance(self.codec, SandboxCodec)
        return latents[:, self.codec.spread.channels :]

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        """The network works on departures from the picture: see `physplan.sandbox.models.departures`."""
        assert isinstance(self.codec, SandboxCodec)
        spread, alpha, sigma = self.codec.spread, conditioning.noise.alpha(n), conditioning.noise.sigma(n)
        picture = conditioning.inputs["picture"][:, : spread.channels]
        departed = latents[:, : spread.channels] - alpha * picture
        found = super().denoise(spread.inn(alpha, sigma) * departed, n, conditioning, rows)
        coarse = spread.velocity(found, departed, alpha, sigma) - sigma * picture
        fine = (alpha * self._fine(latents) - conditioning.inputs["fine"]) / sigma  # the v that ends there
        return torch.cat([coarse, fine.expand(len(coarse), -1, -1, -1, -1)], dim=1)

    def decode_window(self, latents: Tensor, window: Window) -> Tensor:
        """Only the latent that holds the frame is painted: groups do not see each other. A preview is not
        redrawn from the picture, which is not part of a window."""
        place = -(-window.index // GROUP)
        first = place == 0  # the first latent of a window stands for its last frame
        frame = GROUP - 1 if first else (window.index - 1) % GROUP
        assert isinstance(self.codec, SandboxCodec)
        return to_unit(self.codec.autoencoder.paint(latents[:, :, place : place + 1]))[frame]
