"""Building blocks of the sandbox's convolutional networks."""

from __future__ import annotations

from typing import TypeVar

import torch.nn.functional as F
from torch import Tensor, nn

Layer = TypeVar("Layer", nn.Conv2d, nn.Linear)

TIMESTEP_CHANNELS = 64  # of the timestep embedding


class ResBlock(nn.Module):
    """Pre-activation residual block, the identity at initialisation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        zero_init(self.second)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(F.silu(self.first(F.silu(x))))


class ModulatedResBlock(nn.Module):
    """Residual block whose input is scaled and shifted by the timestep embedding [B, 64]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = zero_init(nn.Conv2d(channels, channels, 3, padding=1))
        self.told = zero_init(nn.Linear(TIMESTEP_CHANNELS, 2 * channels))

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        scale, shift = self.told(level)[:, :, None, None].chunk(2, dim=1)
        hidden = self.first(F.silu(x * (1 + scale) + shift))
        return x + self.second(F.silu(hidden))


def zero_init(layer: Layer) -> Layer:
    nn.init.zeros_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
