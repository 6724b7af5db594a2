"""Segmenter and depth estimator: one U-Net with heads for category, offset to the centre, and depth."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.modeling_utils import ModelMixin
from scipy import ndimage
from torch import Tensor, nn

from physplan.perception.images import resize
from physplan.perception.protocol import Instance
from physplan_sandbox.models.layers import ResBlock
from physplan_sandbox.world.categories import CATEGORIES

PICTURE_SIZE = 96


class SightNet(ModelMixin, ConfigMixin):
    """[B, 3, 96, 96] in [0, 1] -> category logits [B, K, 96, 96], centre offsets [B, 2, ...] as fractions
    of the image, inverse depth [B, ...]."""

    @register_to_config
    def __init__(
        self, categories: int = len(CATEGORIES), widths: tuple[int, ...] = (24, 48, 96, 128)
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.PixelUnshuffle(2), nn.Conv2d(12 + 2, widths[0], 3, padding=1), ResBlock(widths[0])
        )
        self.down = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, stride=2, padding=1), ResBlock(b), ResBlock(b))
            for a, b in pairwise(widths)
        )
        self.up = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a + b, a, 3, padding=1), ResBlock(a)) for a, b in pairwise(widths)
        )
        self.head = nn.Sequential(
            nn.SiLU(), nn.Conv2d(widths[0], (categories + 3) * 4, 1), nn.PixelShuffle(2)
        )

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows, cols = images.shape[-2] // 2, images.shape[-1] // 2
        y = (
            torch.linspace(-1, 1, rows, device=images.device)
            .view(1, 1, -1, 1)
            .expand(len(images), 1, rows, cols)
        )
        x = (
            torch.linspace(-1, 1, cols, device=images.device)
            .view(1, 1, 1, -1)
            .expand(len(images), 1, rows, cols)
        )
        stem, *rest = self.stem
        features = [nn.Sequential(*rest)(torch.cat([stem(images * 2 - 1), x, y], dim=1))]
        for layer in self.down:
            features.append(layer(features[-1]))
        found = features.pop()
        for layer in reversed(self.up):
            skip = features.pop()
            found = layer(torch.cat([skip, F.interpolate(found, size=skip.shape[-2:])], dim=1))
        out = self.head(found)
        return out[:, :-3], out[:, -3:-1], out[:, -1]


class SandboxSegmenter:
    """Instances of the world's categories: pixels of a category, grouped by the centre they vote for."""

    def __init__(self, model: SightNet, *, smallest: int = 12) -> None:
        self.model = model
        self.smallest = smallest  # pixels; less is noise

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> SandboxSegmenter:
        return cls(SightNet.from_pretrained(folder).eval().requires_grad_(False))

    @torch.no_grad()
    def segment(self, image: Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
        size = (image.shape[-2], image.shape[-1])
        logits, offsets, _ = self.model(resize(image[None], (PICTURE_SIZE, PICTURE_SIZE)))
        scores = logits[0].softmax(dim=0)
        named = logits[0].argmax(dim=0).numpy()
        found = []
        for category in dict.fromkeys(categories):
            if category not in CATEGORIES:
                continue
            index = CATEGORIES.index(category)
            for mask in group_instances(named == index, offsets[0].numpy(), smallest=self.smallest):
                chosen = torch.from_numpy(mask)
                score = float(scores[index][chosen].mean())
                found.append(Instance(category=category, mask=_to_size(chosen, size), score=score))
        return tuple(found)


class SandboxDepth:
    """Inverse depth from the same network; differentiable."""

    def __init__(self, model: SightNet) -> None:
        self.model = model

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> SandboxDepth:
        return cls(SightNet.from_pretrained(folder).eval().requires_grad_(False))

    def __call__(self, images: Tensor) -> Tensor:
        near = self.model(resize(images, (PICTURE_SIZE, PICTURE_SIZE)))[2]
        return resize(near[:, None], (images.shape[-2], images.shape[-1]), mode="bilinear")[:, 0]


def group_instances(
    mask: np.ndarray, offsets: np.ndarray, *, smallest: int, merge: float = 6.0
) -> list[np.ndarray]:
    """Split one category's mask [H, W] into objects by centre voting.

    Votes within `merge` pixels of each other belong together; pieces smaller than `smallest` are dropped.
    """
    if not mask.any():
        return []
    side = mask.shape[0]
    rows, cols = np.nonzero(mask)
    votes = np.stack([rows + offsets[1][mask] * side, cols + offsets[0][mask] * side])
    cells = np.clip(np.round(votes).astype(int), 0, side - 1)
    heat = np.zeros(mask.shape, dtype=np.float32)
    np.add.at(heat, (cells[0], cells[1]), 1.0)
    heat = ndimage.gaussian_filter(heat, merge / 3.0)
    peaks = (heat == ndimage.maximum_filter(heat, size=int(2 * merge + 1))) & (heat > 0.02 * smallest)
    centres = np.argwhere(peaks)
    if not len(centres):
        return []
    owners = np.full(mask.shape, -1)
    owners[mask] = ((votes[:, None, :] - centres.T[:, :, None]) ** 2).sum(axis=0).argmin(axis=0)
    owners = _strays_to_neighbours(owners)
    pieces = [owners == k for k in range(len(centres))]
    return [piece for piece in pieces if piece.sum() >= smallest]


def _strays_to_neighbours(owners: np.ndarray) -> np.ndarray:
    """Reassign disconnected parts of an object to the object they touch; owners [H, W], -1 for none.

    Parts that touch no other object are kept: an occluder hides the object's middle.
    """
    found = owners.copy()
    for k in range(int(owners.max()) + 1):
        parts, count = ndimage.label(owners == k)
        if count < 2:
            continue
        main = int(np.bincount(parts[parts > 0]).argmax())
        for number in set(range(1, count + 1)) - {main}:
            stray = parts == number
            rim = owners[ndimage.binary_dilation(stray, structure=np.ones((3, 3))) & ~stray]
            if (rim := rim[rim >= 0]).size:
                found[stray] = int(np.bincount(rim).argmax())
    return found


def _to_size(mask: Tensor, size: tuple[int, int]) -> Tensor:
    if tuple(mask.shape) == size:
        return mask
    return F.interpolate(mask[None, None].float(), size=size, mode="nearest")[0, 0] > 0.5
