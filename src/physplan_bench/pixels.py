"""Frames as model input: tensor code, without torchvision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from physplan.perception.images import normalise

Statistics = tuple[tuple[float, ...], tuple[float, ...]]
IMAGENET: Statistics = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CLIP: Statistics = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))


def stacked(frames: Sequence[np.ndarray] | np.ndarray) -> Tensor:
    """(T, H, W, 3) uint8 -> (T, 3, H, W) float in [0, 255]."""
    return torch.from_numpy(np.stack(list(frames))).permute(0, 3, 1, 2).float()


def to_numpy(features: Tensor) -> np.ndarray:
    return np.asarray(features.double().cpu().numpy())


def resize_shorter(images: Tensor, side: int, *, mode: str = "bilinear", antialias: bool = False) -> Tensor:
    """The shorter side becomes `side`, the other in proportion (rounded down)."""
    height, width = images.shape[-2:]
    short = min(height, width)
    size = (side * height // short, side * width // short)
    if size == (height, width):
        return images
    return F.interpolate(images, size=size, mode=mode, align_corners=False, antialias=antialias)


def centre_crop(images: Tensor, side: int, *, to_even: bool = False) -> Tensor:
    """Half a pixel of an odd margin goes down, or `to_even`: the two ways of the libraries in use."""
    margins = [extent - side for extent in images.shape[-2:]]
    top, left = (round(margin / 2) if to_even else margin // 2 for margin in margins)
    return images[..., top : top + side, left : left + side]


def clip_input(frames: Sequence[np.ndarray] | np.ndarray, side: int) -> Tensor:
    """As CLIP's own processor: shorter side by bicubic interpolation of a picture, centre, its statistics."""
    images = resize_shorter(stacked(frames), side, mode="bicubic", antialias=True).round().clamp(0, 255)
    return normalise(centre_crop(images, side) / 255, CLIP)
