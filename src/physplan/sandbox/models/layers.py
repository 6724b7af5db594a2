"""Pieces of the sandbox's convolutional networks."""

from __future__ import annotations

from typing import TypeVar

import torch.nn.functional as F
from torch import Tensor, nn

Layer = TypeVar("Layer", nn.Conv2d, nn.Linear)

LEVELS = 64  # channels in which the noise step is told


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        zeroed(self.second)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(F.silu(self.first(F.silu(x))))


class Told(nn.Module):
    """A residual block that is told the noise step."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = zeroed(nn.Conv2d(channels, channels, 3, padding=1))
        self.told = zeroed(nn.Linear(LEVELS, 2 * channels))

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        scale, shift = self.told(level)[:, :, None, None].chunk(2, dim=1)
        hidden = self.first(F.silu(x * (1 + scale) + shift))
        return x + self.second(F.silu(hidden))


def zeroed(layer: Layer) -> Layer:
    nn.init.zeros_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
