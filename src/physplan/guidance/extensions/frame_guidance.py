"""Frame Guidance beside the paper's method: its loss, and random draws in the order of its CogVideoX code.

Its gradient is `gradients/whole.py`, its settings are in `physplan.guidance.recipes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from physplan.guidance.measurement import Measured
from physplan.guidance.paper.selection import TermSpec
from physplan.perception.evidence import Evidence
from physplan.pictures import to_picture, to_tensor
from physplan.video.protocol import Conditioning


class WholeFrameObjective:
    """Frame Guidance's loss, and ablation (iii): the mean squared difference to the keyframe, all of it."""

    def __init__(self, evidence: Evidence, *, size: tuple[int, int], device: torch.device) -> None:
        self.keyframes = [lanczos(picture.image, size).to(device) for picture in evidence.keyframes]

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {"frame": frame}

    def measure(self, event: int, encoded: Mapping[str, Tensor]) -> tuple[Measured, ...]:
        value = F.mse_loss(encoded["frame"], self.keyframes[event])
        return (Measured(spec=TermSpec(event=event, name="whole_frame"), value=value),)


def lanczos(image: Tensor, size: tuple[int, int]) -> Tensor:
    """A picture [3, H, W] in [0, 1] at `size` (height, width), resized as Frame Guidance's code does it."""
    if tuple(image.shape[-2:]) == size:
        return image
    return to_tensor(to_picture(image).resize(size[::-1], Image.Resampling.LANCZOS))


def frame_guidance_start(conditioning: Conditioning, generator: torch.Generator) -> Conditioning:
    """Initial noise as drawn there: after the picture's latent sample and a sample of a whole video's latent.

    That video is encoded and thrown away there; only its draw is kept here. It has as many numbers as the
    noise that `prepare` has drawn just before, so that noise is the sample, and new noise is the start.
    """
    return replace(conditioning, latents=draw_frames_first(conditioning.latents, generator))


def draw_frames_first(like: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal noise for [1, C, F, H, W], drawn as [1, F, C, H, W]."""
    shape = like.transpose(1, 2).shape
    return torch.randn(shape, generator=generator, dtype=torch.float32).transpose(1, 2).to(like.device)
