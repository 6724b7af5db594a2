"""The denoiser's view: departures from the picture, and a network that says what is left when the noise is
gone.

With the picture's latent p, z = alpha z0 + sigma xi becomes r = z - alpha p = alpha d + sigma xi, where the
departure d = z0 - p is zero wherever nothing happens. The network gives d itself, because one this narrow
cannot carry the noise of a whole patch through to its output: a part that it draws afresh, and how much of
r, which is nearly clean towards the end, to keep as it is. The scheduler's v follows from d.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BUSY = 0.2  # cells whose departure is this large, as the root of its mean square over the channels


@dataclass(frozen=True)
class Spread:
    """Variances of departures per channel, each [C, 1, 1, 1]: coarse channels move further than fine ones,
    and drown in noise later."""

    overall: Tensor
    moving: Tensor  # in the cells where something happens

    @classmethod
    def of(cls, overall: Tensor, moving: Tensor) -> Spread:
        return cls(*(v.float().clamp(min=1e-6).view(-1, 1, 1, 1) for v in (overall, moving)))

    def flat(self) -> Spread:
        """For single frames [B, C, h, w]."""
        return Spread(self.overall[:, 0], self.moving[:, 0])

    @property
    def channels(self) -> int:
        return len(self.overall)

    @property
    def scale(self) -> Tensor:
        return self.overall.sqrt()

    def inn(self, alpha: Tensor | float, sigma: Tensor | float) -> Tensor:
        """Brings r to unit variance."""
        return (alpha**2 * self.overall + sigma**2) ** -0.5

    def departure(self, found: Tensor, r: Tensor, alpha: Tensor | float, sigma: Tensor | float) -> Tensor:
        """d [B, C, ...] from the network's answer [B, 2C, ...]: what is new, and the share of r that is
        kept."""
        fresh, keep = found.chunk(2, dim=1)
        best = (
            alpha * self.moving / (alpha**2 * self.moving + sigma**2)
        )  # r times this: the best linear guess
        return self.scale * fresh + keep.sigmoid() * best * r


def measure(departed: Tensor) -> tuple[Tensor, Tensor]:
    """Variances [C] of departures [B, C, F, h, w], over all cells and over busy ones."""
    square = departed.float().square()
    busy = square.mean(dim=1, keepdim=True).sqrt() > BUSY
    weight = busy.expand_as(square).float()
    moving = (square * weight).sum(dim=(0, 2, 3, 4)) / weight.sum(dim=(0, 2, 3, 4)).clamp(min=1)
    return torch.mean(square, dim=(0, 2, 3, 4)), moving
