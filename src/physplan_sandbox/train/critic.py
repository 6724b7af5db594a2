"""Patch critic (discriminator) for decoder fine-tuning.

A squared error blurs what is uncertain; the critic restores edges. It is conditioned on the clip's first
frame, so that a decoded ball has to look like that frame's ball.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils.parametrizations import spectral_norm

ADVERSARIAL_WEIGHT = 0.5  # norm of the adversarial gradient relative to the reconstruction gradient


class Critic(nn.Module):
    """Frames [B, 3, H, W] and their first frames -> a logit per patch; higher is more real."""

    def __init__(self, widths: tuple[int, ...] = (32, 64, 96)) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 6
        for width in widths:
            layers += [spectral_norm(nn.Conv2d(before, width, 4, stride=2, padding=1)), nn.LeakyReLU(0.2)]
            before = width
        self.marks = nn.Sequential(*layers, spectral_norm(nn.Conv2d(before, 1, 3, padding=1)))
        self.gain = nn.Parameter(torch.tensor(1.0))

    def forward(self, frames: Tensor, first: Tensor) -> Tensor:
        marks: Tensor = self.marks(torch.cat([frames, first], dim=1))
        return self.gain * marks.float()


def adversarial_loss(critic: Critic, error: Tensor, found: Tensor, frames: Tensor, first: Tensor) -> Tensor:
    """Reconstruction error + adversarial loss of the decoder + loss of the critic (relativistic, per patch).

    Gradients are separated: the critic's parameters are detached in the decoder's term and vice versa.
    """
    critic_loss = F.softplus(critic(found.detach(), first) - critic(frames, first)).mean()
    fixed = {name: value.detach() for name, value in critic.named_parameters()}

    def mark(pictures: Tensor) -> Tensor:
        marks: Tensor = functional_call(critic, fixed, (pictures, first))
        return marks

    adversarial = F.softplus(mark(frames) - mark(found)).mean()
    return error + _adaptive_weight(error, adversarial, found) * adversarial + critic_loss


def _adaptive_weight(error: Tensor, adversarial: Tensor, found: Tensor) -> Tensor:
    """VQGAN's adaptive weight: the ratio of gradient norms at the output."""
    by_error, by_critic = (
        torch.autograd.grad(x, found, retain_graph=True)[0].norm() for x in (error, adversarial)
    )
    return ADVERSARIAL_WEIGHT * by_error / by_critic.clamp(min=1e-12)
