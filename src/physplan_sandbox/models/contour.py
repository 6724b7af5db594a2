"""Contour denoiser: full spatial resolution at half the frame rate, for high noise levels.

The outline network works on blocks of 12 pixels and two frames, too coarse to fix an object's shape before
the drawing network takes over. This network has the drawing network's architecture, is conditioned on the
outline prediction, and its output replaces it above `HANDOFF_TIMESTEP`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.models.outline import BLOCK_SIZE

PAIR_NOISE_SCALE = BLOCK_SIZE**-0.5  # std of noise averaged over two frames


def build_contour() -> DrawingNet:
    return DrawingNet(width=128, blocks=8, asks_after=4, moments=(-2, -1, 0, 1, 2), outlined=True)


def to_half_rate(clips: Tensor) -> Tensor:
    """[B, C, 1 + 2k, h, w] -> [B, C, 1 + k, h, w]: means of frame pairs; the first frame is kept."""
    pairs = F.avg_pool3d(clips[:, :, 1:], (BLOCK_SIZE, 1, 1))
    return torch.cat([clips[:, :, :1], pairs], dim=2)


def to_full_rate(clips: Tensor) -> Tensor:
    """[B, C, 1 + k, h, w] -> [B, C, 1 + 2k, h, w], every frame but the first repeated."""
    return torch.cat([clips[:, :, :1], clips[:, :, 1:].repeat_interleave(BLOCK_SIZE, dim=2)], dim=2)
