"""Videos for people: small ones are drawn larger. What is measured stays as it was made."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

MIN_SIDE = 384  # pixels: what a player shows without making a blur of it


def to_watch(frames: Tensor, side: int = MIN_SIDE) -> Tensor:
    """Frames [F, 3, H, W] in [0, 1], enlarged by a whole number until the shorter side has `side` pixels."""
    factor = -(-side // min(frames.shape[-2:]))
    if factor <= 1:
        return frames
    large = F.interpolate(frames.float(), scale_factor=factor, mode="bicubic", align_corners=False)
    return large.clamp(0, 1)
