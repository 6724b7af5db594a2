"""Where an object is in a picture, in a form that gradients can pass through (eqs. 4 and 5)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

EPSILON = 1e-8  # added to every denominator (A.6, "Combination")


def average(values: Tensor, region: Tensor) -> Tensor:
    """avg_A g: the mean of `values` [..., h, w] over a region [h, w]; leading axes are kept."""
    weight = region.to(values.dtype)
    return (values * weight).sum((-2, -1)) / weight.sum().clamp_min(EPSILON)


def reference_feature(features: Tensor, mask: Tensor) -> Tensor:
    """rho_o of eq. 5: the mean feature [C] of `features` [C, h, w] over the object's mask [h, w]."""
    return average(features, mask)


def similarity(features: Tensor, references: Tensor) -> Tensor:
    """s(u) = cos(F(x)(u), rho_o): [O, h, w] from features [C, h, w] and references [O, C]."""
    directions = F.normalize(features, dim=0, eps=EPSILON)
    return torch.einsum("oc,chw->ohw", F.normalize(references, dim=1, eps=EPSILON), directions)


def logits(similarity: Tensor, *, threshold: float, temperature: float) -> Tensor:
    """The sigmoid's argument in eq. 4, (s(u) - b) / tau: above 0 where occupancy is above 0.5."""
    return (similarity - threshold) / temperature


def occupancy(similarity: Tensor, *, threshold: float, temperature: float) -> Tensor:
    """Eq. 4: Phi_o(x)(u) = sigmoid((s(u) - b) / tau), in [0, 1]."""
    return torch.sigmoid(logits(similarity, threshold=threshold, temperature=temperature))
