"""The denoiser of little noise: what things look like, once it is settled where they are.

Plain convolutions at the latents' resolution, one frame at a time: a frame's answer depends on its own noisy
latent, on those of a few moments before and after, and on the picture in full. No norm and no attention
among cells: at equal time it left half the error of a U-net with both. What it draws is for the most part
copied: two blocks of the picture (`physplan.sandbox.models.copying`), one over the other, cut out by a
mask.

Such a network can also be given outlines (`physplan.sandbox.models.outline`) of the frame and its neighbours:
then it gives them their contours while there is still much noise, in which alone it would see things that are
not there.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.embeddings import get_timestep_embedding
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn

from physplan.sandbox.models.autoencoder import CELL, PATTERNS
from physplan.sandbox.models.copying import Copier, cutter, places_of_cells
from physplan.sandbox.models.departures import Spread
from physplan.sandbox.models.layers import LEVELS, Told, zeroed


class DrawingNet(ModelMixin, ConfigMixin):
    """The departure [N, C, h, w] of frames as it is when the noise is gone."""

    @register_to_config
    def __init__(
        self,
        drawn: int = 24,
        width: int = 96,
        blocks: int = 5,
        asks_after: int = 2,
        moments: tuple[int, ...] = (-4, -2, -1, 0, 1, 2, 4),
        outlined: bool = False,
    ) -> None:
        super().__init__()
        looks = len(moments) * (2 if outlined else 1)
        # Pixel patterns of the drawn channels, as wide as these: to lay one block over another.
        self.register_buffer("patterns", torch.eye(PATTERNS)[:drawn])
        self.register_buffer("scale", torch.ones(drawn))
        self.level = nn.Sequential(nn.Linear(LEVELS, LEVELS), nn.SiLU(), nn.Linear(LEVELS, LEVELS))
        self.enter = nn.Conv2d(drawn * (looks + 1) + PATTERNS, width, 3, padding=1)
        self.residuals = nn.ModuleList(Told(width) for _ in range(blocks))
        self.copier = Copier(width, drawn)
        self.tells = zeroed(nn.Conv2d(2 * drawn, width, 1))
        self.leave = nn.Conv2d(width, (3 if outlined else 2) * drawn, 3, padding=1)
        self.cut = cutter(width, 1, CELL**2)
        nn.init.zeros_(self.leave.weight)

    def forward(
        self,
        noisy: Tensor,
        picture: Tensor,
        blocks: Tensor,
        timesteps: Tensor,
        spread: Spread,
        alpha: Tensor,
        sigma: Tensor,
        corners: Tensor | None = None,
        outlines: Tensor | None = None,
    ) -> Tensor:
        """From noisy departures of a frame and its neighbours [N, C, moments, h, w], the picture's latent
        [N, C + 108, h, w], its blocks [P, C, rows, columns], noise steps, alpha and sigma [N]; `corners`
        [N, 2] is the first cell of what is shown, if that is not the whole frame; `outlines`, where the
        network is given them, are of the same shape as `noisy`."""
        start = picture[:, : spread.channels]
        wide_alpha, wide_sigma = (x.view(-1, 1, 1, 1) for x in (alpha, sigma))
        shown = spread.flat().inn(wide_alpha, wide_sigma)[:, :, None] * noisy
        now = self.config.moments.index(0)
        middle, looks = noisy[:, :, now], [shown] if outlines is None else [shown, outlines]
        level = self.level(get_timestep_embedding(timesteps, LEVELS, flip_sin_to_cos=True).to(noisy.dtype))
        seen_by_all = [look.transpose(1, 2).flatten(1, 2) for look in looks]
        x = self.enter(torch.cat([*seen_by_all, picture], dim=1))
        for block in self.residuals[: self.config.asks_after]:
            x = block(x, level)
        if corners is None:
            corners = torch.zeros(len(noisy), 2, device=noisy.device)
        places = places_of_cells(corners.float(), *noisy.shape[-2:])
        seen = (middle + wide_alpha * start)[:, :, None]
        copies = self.copier(x, blocks, seen, alpha, sigma, places)[:, :, :, 0]
        x = x + self.tells((copies - start[:, None]).flatten(1, 2))
        for block in self.residuals[self.config.asks_after :]:
            x = block(x, level)
        x = F.silu(x)
        found = self.leave(x).float()
        drawn = spread.flat().departure(found[:, : 2 * spread.channels], middle, wide_alpha, wide_sigma)
        if outlines is not None:  # how much of the outline to believe
            drawn = drawn + found[:, 2 * spread.channels :].sigmoid() * outlines[:, :, now]
        cut = self.cut(x).float().sigmoid()
        return drawn + cut[:, :1] * (self.laid_over(copies, cut[:, 1:]) - start - drawn)

    def laid_over(self, copies: Tensor, mask: Tensor) -> Tensor:
        """The first of two copies [N, 2, C, h, w] where the mask [N, 36, h, w] has it, else the second."""
        with torch.autocast("cpu", enabled=False):
            front, back = copies.float().unbind(dim=1)
            scale = self.scale.view(-1, 1, 1)
            patterns = self.patterns[:, :, None, None]
            front_less_back = F.conv2d((front - back) * scale, patterns.transpose(0, 1))
            return back + F.conv2d(front_less_back * mask.repeat(1, 3, 1, 1), patterns) / scale

    @torch.no_grad()
    def draw_with(self, patterns: Tensor, scale: Tensor) -> None:
        """The autoencoder's."""
        self.patterns.copy_(patterns[: len(self.patterns)])
        self.scale.copy_(scale)

    def neighbours(self, noisy: Tensor, frames: Tensor | None = None) -> Tensor:
        """[B, C, F, h, w] -> [B * F, C, moments, h, w], or of some frames only. The first frame is the
        picture: nothing departs from it, then or before. After the last one nothing is known, which looks the
        same."""
        moments = self.config.moments
        before, after = -min(moments), max(moments)
        padded = F.pad(noisy[:, :, 1:], (0, 0, 0, 0, 1 + before, after))
        if frames is None:
            frames = torch.arange(noisy.shape[2], device=noisy.device)
        found = [padded[:, :, before + moment + frames] for moment in moments]
        return torch.stack(found, dim=2).permute(0, 3, 1, 2, 4, 5).flatten(0, 1)
