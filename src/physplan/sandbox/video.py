"""The sandbox's video model: CogVideoX's noise, a latent per frame, and denoisers that take turns."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
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
from physplan.sandbox.models.autoencoder import CELL, FrameAutoencoder
from physplan.sandbox.models.by_frame import by_frame
from physplan.sandbox.models.contour import CALMER, doubled, halved
from physplan.sandbox.models.copying import STRIDE
from physplan.sandbox.models.departures import Spread
from physplan.sandbox.models.drawing import DrawingNet
from physplan.sandbox.models.lots import draw_lot
from physplan.sandbox.models.outline import BLOCK, MUCH, QUIETER, OutlineNet, enlarge, shrink
from physplan.sandbox.models.packed import FILE, load_packed
from physplan.sandbox.models.text import encode_prompts
from physplan.sandbox.world.render import FRAMES
from physplan.video.families.base import FamilyModel, Request, to_unit
from physplan.video.frames import FrameLayout
from physplan.video.noise import VariancePreserving
from physplan.video.protocol import Conditioning

SIZE = 96


class SandboxCodec:
    """Frames, each decoded by itself."""

    spatial_ratio = CELL
    temporal_ratio = 1
    frame_multiple = 1

    def __init__(self, autoencoder: FrameAutoencoder) -> None:
        self.autoencoder = autoencoder
        self.channels = autoencoder.channels
        self.drawn = int(autoencoder.config.drawn)
        self.spread = Spread.of(autoencoder.departs, autoencoder.departs_moving)
        self.outlines = Spread.of(autoencoder.outlines, autoencoder.outlines_moving)

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        return self.autoencoder.encode(image.unsqueeze(2))

    def encode_video(self, video: Tensor) -> Tensor:
        return self.autoencoder.encode(video)

    def blocks(self, picture: Tensor) -> Tensor:
        """What can be copied from the picture, given its latent [B, C, 1, h, w]."""
        return self.autoencoder.blocks(self.autoencoder.picture(picture[:, :, 0]), STRIDE)

    def decode(self, latents: Tensor, *, tiled: bool = False) -> Tensor:
        """Small enough that tiles would save nothing."""
        return to_unit(self.autoencoder.decode(latents))


class SandboxVideo(FamilyModel):
    """Trained on 33 frames of 96 x 96 pixels of the small world, and on nothing else."""

    name = "sandbox"
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
        self.processor = VideoProcessor(vae_scale_factor=CELL)
        self.side_multiple = CELL * BLOCK

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """A folder with outline, contour, drawing, scheduler, autoencoder, text_encoder and tokenizer, as
        diffusers lays them out, the outline's weights packed."""
        folder = Path(folder)
        needed = (
            folder / "outline" / "config.json",
            folder / "outline" / FILE,
            folder / "contour" / "config.json",
            folder / "drawing" / "config.json",
        )
        if not all(file.exists() for file in needed):
            raise PhysPlanError(
                f"{folder} holds no sandbox video model: train one with `python -m physplan.sandbox.train`."
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
        if (height, width, num_frames) != (SIZE, SIZE, FRAMES):
            raise PhysPlanError(
                f"The sandbox model makes {FRAMES} frames of {SIZE} x {SIZE} pixels: use height {SIZE},"
                f" width {SIZE} and num_frames {FRAMES}, not {height}, {width} and {num_frames}."
            )
        return super().check_size(height=height, width=width, num_frames=num_frames)

    def condition(self, run: Request) -> Conditioning:
        prompts = [run.negative_prompt, run.prompt] if run.guided else [run.prompt]
        picture = self.codec.encode_image(run.pixels(self.processor), run.generator).to(self.device)
        latents = run.draw_by_frame(picture).to(self.device)
        self.scheduler.set_timesteps(run.num_steps)
        return run.conditioning(
            latents=latents,
            noise=VariancePreserving.from_scheduler(self.scheduler, eta=run.eta),
            timesteps=self.scheduler.timesteps,
            inputs={
                "text": self.encode_text(prompts).to(self.device),
                "picture": picture,
                "blocks": self.codec.blocks(picture),
                "lots": lot_for(run.image, latents)[None].to(self.device),
            },
        )

    @property
    def denoisers(self) -> list[Any]:
        return [self.outline, self.contour, self.denoiser]

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        """The networks work on departures from the picture (`physplan.sandbox.models.departures`), in the
        channels that are drawn. The others hold the picture, and are known: their v is the one that ends
        there."""
        drawn, sigma = self.codec.drawn, conditioning.noise.sigma(n)
        alpha, picture = conditioning.noise.alpha(n), conditioning.inputs["picture"]
        start, noisy = picture[:, :drawn], latents[:, :drawn] - alpha * picture[:, :drawn]
        much = int(conditioning.timesteps[n]) >= MUCH
        if much:
            outlines = self._outlined(noisy, start, n, conditioning, rows)
            departure = self._contoured(noisy, outlines, picture, n, conditioning)
        else:
            departure = self._drawn(noisy, picture, n, conditioning)
        departure = F.pad(departure[:, :, 1:], (0, 0, 0, 0, 1, 0))  # the first frame is the picture
        moving = (alpha * noisy - departure) / sigma - sigma * start  # v = alpha xi - sigma z0
        known = (alpha * latents[:, drawn:] - picture[:, drawn:]) / sigma
        branches = len(conditioning.inputs["text"][rows])
        return torch.cat([moving.expand(branches, -1, -1, -1, -1), known.expand(branches, -1, -1, -1, -1)], 1)

    def _outlined(
        self, noisy: Tensor, picture: Tensor, n: int, conditioning: Conditioning, rows: slice
    ) -> Tensor:
        """One departure for each branch of the words."""
        text, batch = conditioning.inputs["text"][rows], len(conditioning.inputs["text"][rows])
        alpha, sigma = conditioning.noise.alpha(n), QUIETER * conditioning.noise.sigma(n)
        found = self.outline(
            shrink(noisy).expand(batch, -1, -1, -1, -1),
            picture[:, :, 0].expand(batch, -1, -1, -1),
            conditioning.inputs["blocks"].expand(batch, -1, -1, -1),
            conditioning.timesteps[n].expand(batch),
            text,
            self.codec.outlines,
            torch.full((batch,), alpha, device=noisy.device),
            torch.full((batch,), sigma, device=noisy.device),
            conditioning.inputs["lots"].expand(batch, -1),
        )
        return enlarge(found)

    def _contoured(
        self, noisy: Tensor, outlines: Tensor, picture: Tensor, n: int, conditioning: Conditioning
    ) -> Tensor:
        """Every branch's outlines in full size, at half the rate."""
        both = torch.cat([noisy.expand(len(outlines), -1, -1, -1, -1), outlines], dim=1)
        sigma = CALMER * conditioning.noise.sigma(n)
        return doubled(self._by_frame(self.contour, halved(both), picture, sigma, n, conditioning))

    def _drawn(self, noisy: Tensor, picture: Tensor, n: int, conditioning: Conditioning) -> Tensor:
        """Without words: what happens is settled."""
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
        """What a network finds in noisy clips [B, C, F, h, w]; behind the channels there may be outlines."""
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


def lot_for(picture: Image, noise: Tensor) -> Tensor:
    """What chance decides in a video: the same for the same picture and noise, and no other draw moves."""
    seen = (picture.tobytes(), noise.contiguous().numpy().tobytes())
    return draw_lot(np.random.default_rng([zlib.crc32(part) for part in seen]))
