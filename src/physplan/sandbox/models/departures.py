"""The denoiser's view: departures from the picture, and a network that says what is left when the noise is
gone.

With the picture's latent p, z = alpha z0 + sigma xi becomes r = z - alpha p = alpha d + sigma xi, where the
departure d = z0 - p is zero wherever nothing happens. The network gives d itself, because one this narrow
cannot carry the noise of a whole patch through to its output: a part that it draws afresh, and how much of
r, which is nearly clean towards the end, to keep as it is. The scheduler's v follows from d.
"""

from __future__ import annotations

from torch import Tensor

VARIANCE = 0.1  # of departures, over all cells of the training clips
MOVING = 1.0  # of departures where something happens
SCALE = VARIANCE**0.5


def inn(alpha: Tensor | float, sigma: Tensor | float) -> Tensor | float:
    """Brings r to unit variance."""
    return (alpha**2 * VARIANCE + sigma**2) ** -0.5


def departure(found: Tensor, r: Tensor, alpha: Tensor | float, sigma: Tensor | float) -> Tensor:
    """d [B, C, ...] from the network's answer [B, 2C, ...]: what is new, and the share of r that is kept."""
    fresh, keep = found.chunk(2, dim=1)
    best = alpha * MOVING / (alpha**2 * MOVING + sigma**2)  # r times this is the best linear guess of d
    return SCALE * fresh + keep.sigmoid() * best * r


def velocity(found: Tensor, r: Tensor, alpha: Tensor | float, sigma: Tensor | float) -> Tensor:
    """v_d = alpha xi - sigma d."""
    return (alpha * r - departure(found, r, alpha, sigma)) / sigma
