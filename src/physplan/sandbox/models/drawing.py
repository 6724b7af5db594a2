"""The denoiser of little noise: what things look like, once it is settled where they are.

Plain convolutions at the latents' resolution, one frame at a time: a frame's answer depends on its own noisy
latent, on those of a few moments before and after, and on the picture in full. No norm and no attention: at
equal time it left half the error of a U-net with both.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.embeddings import get_timestep_embedding
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn

from physplan.sandbox.models.autoencoder import PATTERNS
from physplan.sandbox.models.layers import LEVELS, Told


class DrawingNet(ModelMixin, ConfigMixin):
    """Noisy departures of a frame and its neighbours [N, C * moments, h, w], and the picture's latent
    [N, C + 108, h, w], to the answer [N, 2C, h, w] of `physplan.sandbox.models.departures`."""

    @register_to_config
    def __init__(
        self,
        drawn: int = 24,
        width: int = 96,
        blocks: int = 5,
        moments: tuple[int, ...] = (-4, -2, -1, 0, 1, 2, 4),
    ) -> None:
        super().__init__()
        self.level = nn.Sequential(nn.Linear(LEVELS, LEVELS), nn.SiLU(), nn.Linear(LEVELS, LEVELS))
        self.enter = nn.Conv2d(drawn * (len(moments) + 1) + PATTERNS, width, 3, padding=1)
        self.residuals = nn.ModuleList(Told(width) for _ in range(blocks))
        self.leave = nn.Conv2d(width, 2 * drawn, 3, padding=1)
        nn.init.zeros_(self.leave.weight)

    def forward(self, noisy: Tensor, picture: Tensor, timesteps: Tensor) -> Tensor:
        level = self.level(get_timestep_embedding(timesteps, LEVELS, flip_sin_to_cos=True).to(noisy.dtype))
        x = self.enter(torch.cat([noisy, picture], dim=1))
        for block in self.residuals:
            x = block(x, level)
        return self.leave(F.silu(x))

    def neighbours(self, noisy: Tensor) -> Tensor:
        """[B, C, F, h, w] -> [B * F, C * moments, h, w]; before the first frame and after the last one stand
        these themselves."""
        frames = noisy.shape[2]
        found = [
            noisy[:, :, [min(max(k + moment, 0), frames - 1) for k in range(frames)]]
            for moment in self.config.moments
        ]
        return torch.cat(found, dim=1).transpose(1, 2).flatten(0, 1)
