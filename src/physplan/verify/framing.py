"""A video and the picture it starts from, brought to one size that does not depend on the video's."""

from __future__ import annotations

import math

import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from physplan.keyframes.framing import fit, same_shape
from physplan.pictures import to_tensor

Size = tuple[int, int]  # width, height


def judged_together(picture: Image.Image, frames: Tensor, *, area: int) -> tuple[Tensor, Tensor]:
    """The first frame [3, h, w] and the video [F, 3, h, w] at the size at which they are compared.

    The same video in another size or aspect is the same afterwards. A video of another shape than its picture
    was stretched, or shows the middle of it: its first frame tells which.
    """
    found = []
    for size in judged_sizes(picture.size, (frames.shape[-1], frames.shape[-2]), area):
        first = to_tensor(fit(picture, size))
        start = resized(frames[:1], size)[0]
        found.append((float((start - first).abs().mean()), size, first))
    _, size, first = min(found, key=lambda one: one[0])
    return first, resized(frames, size)


def judged_sizes(picture: Size, video: Size, area: int) -> list[Size]:
    """Of the whole picture and, for a video of another shape, of the part of it in that shape."""
    sizes = [within(picture, area)]
    if not same_shape(picture, video):
        scale = max(video[0] / picture[0], video[1] / picture[1])
        sizes.append(within((round(video[0] / scale), round(video[1] / scale)), area))
    return sizes


def within(size: Size, area: int) -> Size:
    """A size of at most `area` pixels in the same shape."""
    scale = min(1.0, math.sqrt(area / (size[0] * size[1])))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def resized(frames: Tensor, size: Size) -> Tensor:
    if (frames.shape[-1], frames.shape[-2]) == size:
        return frames
    return F.interpolate(frames, size[::-1], mode="bilinear", antialias=True, align_corners=False)
