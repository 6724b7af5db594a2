"""Random draws in the order of Frame Guidance's CogVideoX code, so that a seed means the same as there."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from physplan.video.protocol import Conditioning


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
