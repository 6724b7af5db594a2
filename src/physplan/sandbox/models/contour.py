"""The denoiser between the two: it gives outlines their contours while there is still much noise.

An outline has blocks of 12 pixels for two frames. Even a perfect one does not tell the drawing network what
a thing's shape is (decisions.md, 22), and what is finer than its blocks stays noise until it is handed over.
Half the rate does no harm. So while outlines are drawn, a network of the drawing network's kind looks at the
clip in full size, at half the rate, with the outline's answer beside it, and its own is the one that counts.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.sandbox.models.drawing import DrawingNet
from physplan.sandbox.models.outline import BLOCK

CALMER = BLOCK**-0.5  # of the noise, in the mean of two frames


def build_contour() -> DrawingNet:
    return DrawingNet(width=128, blocks=8, asks_after=4, moments=(-2, -1, 0, 1, 2), outlined=True)


def halved(clips: Tensor) -> Tensor:
    """[B, C, 1 + 2k, h, w] -> [B, C, 1 + k, h, w]: the first frame is the picture, and stays."""
    pairs = F.avg_pool3d(clips[:, :, 1:], (BLOCK, 1, 1))
    return torch.cat([clips[:, :, :1], pairs], dim=2)


def doubled(clips: Tensor) -> Tensor:
    """[B, C, 1 + k, h, w] -> [B, C, 1 + 2k, h, w]."""
    return torch.cat([clips[:, :, :1], clips[:, :, 1:].repeat_interleave(BLOCK, dim=2)], dim=2)
