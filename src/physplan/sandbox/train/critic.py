"""A critic beside the decoder: it tells true frames from decoded ones, patch by patch.

Squared error pays for what is uncertain with blur: from nearly clean latents the decoder kept 71 % of the
energy of true edges. A critic is not content with that. It sees the clip's picture as well, so that a ball is
asked to look like that picture's ball.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils.parametrizations import spectral_norm

SHARE = 0.5  # how strongly the critic pulls at a decoded pixel, where the error pulls with strength 1


class Critic(nn.Module):
    """Frames [B, 3, H, W] beside their pictures -> a mark for every patch; the higher, the truer."""

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


def criticised(critic: Critic, error: Tensor, found: Tensor, frames: Tensor, first: Tensor) -> Tensor:
    """The decoder's `error`, what the critic finds in `found`, and what the critic has to learn: one loss for
    both, in which neither learns the other's part. Each patch is compared with the true one in its place."""
    learnt = F.softplus(critic(found.detach(), first) - critic(frames, first)).mean()
    fixed = {name: value.detach() for name, value in critic.named_parameters()}

    def mark(pictures: Tensor) -> Tensor:
        marks: Tensor = functional_call(critic, fixed, (pictures, first))
        return marks

    told = F.softplus(mark(frames) - mark(found)).mean()
    return error + _share(error, told, found) * told + learnt


def _share(error: Tensor, told: Tensor, found: Tensor) -> Tensor:
    """So much that the critic's pull at the pixels has its share of the error's."""
    by_error, by_critic = (torch.autograd.grad(x, found, retain_graph=True)[0].norm() for x in (error, told))
    return SHARE * by_error / by_critic.clamp(min=1e-12)
