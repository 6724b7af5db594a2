"""The denoiser's view: departures from the picture, and a network that says what is left when the noise is
gone.

With the picture's latent p, z = alpha z0 + sigma xi becomes r = z - alpha p = alpha d + sigma xi, where the
departure d = z0 - p is zero wherever nothing happens. The network gives d itself, at unit scale: few numbers
are enough to say what happens, while a network this narrow cannot carry the noise of a whole patch through
to its output. The scheduler's v follows from it.
"""

from __future__ import annotations

from torch import Tensor

VARIANCE = 0.15  # between that of a still cell (0) and the mean over the training clips (0.33)
SCALE = VARIANCE**0.5


def inn(alpha: Tensor | float, sigma: Tensor | float) -> Tensor | float:
    """Brings r to unit variance."""
    return (alpha**2 * VARIANCE + sigma**2) ** -0.5


def velocity(found: Tensor, r: Tensor, alpha: Tensor | float, sigma: Tensor | float) -> Tensor:
    """v_d = alpha xi - sigma d from the network's answer d / SCALE and its noisy input r."""
    return (alpha * r - SCALE * found) / sigma
