"""Residual prediction: the denoisers predict the clean residual to the first frame.

With the first frame's latent p, z = alpha z0 + sigma xi becomes r = z - alpha p = alpha d + sigma xi, where
the residual d = z0 - p is zero wherever nothing moves. A network returns d in two parts: a new component, and
a gate on the best linear estimate from r, which is nearly clean at low noise. The scheduler's v follows from
d.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

MOVING_THRESHOLD = 0.2  # RMS of the residual over channels from which a cell counts as moving


@dataclass(frozen=True)
class ResidualStats:
    """Residual variance per channel, each [C, 1, 1, 1]."""

    overall: Tensor
    moving: Tensor  # over moving cells only

    @classmethod
    def of(cls, overall: Tensor, moving: Tensor) -> ResidualStats:
        return cls(*(v.float().clamp(min=1e-6).view(-1, 1, 1, 1) for v in (overall, moving)))

    def flat(self) -> ResidualStats:
        """For single frames [B, C, h, w]."""
        return ResidualStats(self.overall[:, 0], self.moving[:, 0])

    @property
    def channels(self) -> int:
        return len(self.overall)

    @property
    def scale(self) -> Tensor:
        return self.overall.sqrt()

    def c_in(self, alpha: Tensor | float, sigma: Tensor | float) -> Tensor:
        """EDM's c_in: scales r to unit variance."""
        return (alpha**2 * self.overall + sigma**2) ** -0.5

    def residual(self, found: Tensor, r: Tensor, alpha: Tensor | float, sigma: Tensor | float) -> Tensor:
        """d [B, C, ...] from the network's output [B, 2C, ...]: a new component and a gate on r."""
        fresh, keep = found.chunk(2, dim=1)
        best = (
            alpha * self.moving / (alpha**2 * self.moving + sigma**2)
        )  # Wiener gain: the best linear estimate of d is this times r
        return self.scale * fresh + keep.sigmoid() * best * r


def measure(residual: Tensor) -> tuple[Tensor, Tensor]:
    """Variances [C] of residuals [B, C, F, h, w], over all cells and over moving ones."""
    square = residual.float().square()
    busy = square.mean(dim=1, keepdim=True).sqrt() > MOVING_THRESHOLD
    weight = busy.expand_as(square).float()
    moving = (square * weight).sum(dim=(0, 2, 3, 4)) / weight.sum(dim=(0, 2, 3, 4)).clamp(min=1)
    return torch.mean(square, dim=(0, 2, 3, 4)), moving
