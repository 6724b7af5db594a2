"""The verdict's features without a hub: XFeat's descriptors where its file is, else colours and edges."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan_photo.weights import have

FILE = "xfeat_256x256.onnx"
GRID_CELLS = 32


class SimpleFeatures:
    """Mean colour, its spread and the strength of edges in each of 32 x 32 cells; differentiable."""

    says = "colours and edges (no encoder's weights are here)"

    def __call__(self, images: Tensor) -> Tensor:
        """Features [B, 8, 32, 32] of images [B, 3, H, W] in [0, 1]."""
        small = F.interpolate(images, (4 * GRID_CELLS, 4 * GRID_CELLS), mode="bilinear", align_corners=False)
        mean = F.avg_pool2d(small, 4)
        spread = (F.avg_pool2d(small * small, 4) - mean * mean).clamp_min(0).add(1e-6).sqrt()
        grey = F.pad(small.mean(1, keepdim=True), (1, 1, 1, 1), mode="replicate")
        across = (grey[..., 1:-1, 2:] - grey[..., 1:-1, :-2]).abs()
        down = (grey[..., 2:, 1:-1] - grey[..., :-2, 1:-1]).abs()
        edges = F.avg_pool2d(torch.cat([across, down], 1), 4)
        return torch.cat([mean, spread, edges], 1)


def load_encoder() -> object:
    """XFeat by onnxruntime, or the simple features; nothing is fetched."""
    if have(FILE) is None:
        return SimpleFeatures()
    from physplan_photo.xfeat import XFeat

    return XFeat.from_pretrained()


def encoder_name() -> str:
    return SimpleFeatures.says if have(FILE) is None else "XFeat's descriptors"
