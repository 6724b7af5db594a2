"""The denoiser's view: departures from the picture, scaled so that what stays needs no learning.

With the picture's latent p, z = alpha z0 + sigma xi becomes r = z - alpha p = alpha d + sigma xi, where the
departure d = z0 - p is zero wherever nothing happens. Its v is v + sigma p. As d varies less than a latent,
most of v is a multiple of r; the network F gives the rest, at unit scale: v_d = skip r + out F(inn r).
"""

from __future__ import annotations

from torch import Tensor

VARIANCE = 0.15  # between that of a still cell (0) and the mean over the training clips (0.33)


def skip(alpha: Tensor | float, sigma: Tensor | float) -> Tensor | float:
    """The share of v that follows from r alone: E[v r] / E[r^2]."""
    return alpha * sigma * (1 - VARIANCE) / _power(alpha, sigma)


def out(alpha: Tensor | float, sigma: Tensor | float) -> Tensor | float:
    """The standard deviation of what is left of v."""
    return (VARIANCE / _power(alpha, sigma)) ** 0.5


def inn(alpha: Tensor | float, sigma: Tensor | float) -> Tensor | float:
    """Brings r to unit variance."""
    return _power(alpha, sigma) ** -0.5


def _power(alpha: Tensor | float, sigma: Tensor | float) -> Tensor | float:
    return alpha**2 * VARIANCE + sigma**2
