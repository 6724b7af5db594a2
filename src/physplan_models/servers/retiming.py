"""A server's frames as the run wants them: cut out, scaled, at the run's frame rate."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.keyframes.framing import Box


def cut(frames: Tensor, box: Box, size: tuple[int, int]) -> Tensor:
    """The part `box` of frames [F, 3, H, W] at `size` (width, height)."""
    height, width = frames.shape[-2:]
    left, top = round(box[0] * width), round(box[1] * height)
    right, bottom = max(round(box[2] * width), left + 1), max(round(box[3] * height), top + 1)
    part = frames[..., top:bottom, left:right]
    if part.shape[-2:] == (size[1], size[0]):
        return part
    resized = F.interpolate(
        part, size=(size[1], size[0]), mode="bicubic", antialias=True, align_corners=False
    )
    return resized.clamp(0, 1)


def retime(frames: Tensor, fps: float, count: int, wanted_fps: float, *, whole: bool) -> Tensor:
    """`count` of the frames: evenly over all of them (`whole`), or at the run's own speed from the first."""
    if len(frames) == count:
        return frames
    if whole:
        places = torch.linspace(0, len(frames) - 1, count).round().long()
    else:
        places = (torch.arange(count) * (fps / wanted_fps)).round().long().clamp(max=len(frames) - 1)
    return frames[places]
