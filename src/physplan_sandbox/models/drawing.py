"""Drawing denoiser: full resolution and frame rate, for low noise levels.

- Input per frame: its noisy latent, those of a few neighbouring frames, and the first frame's full latent.
- Plain residual convolutions; no norm, no self-attention.
- Output: a predicted residual blended with two blocks copied from the first frame
  (`physplan_sandbox.models.copying`), one composited over the other by a mask.
- With `outlined`, the outline prediction (`physplan_sandbox.models.outline`) of the same frames is a further
  input; the contour network is built this way.

Names of parameters are those of the stored weights.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.embeddings import get_timestep_embedding
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn

from physplan_sandbox.models.autoencoder import CELL_SIZE, PATCH_VALUES
from physplan_sandbox.models.copying import BlockCopier, cell_positions, mask_head
from physplan_sandbox.models.layers import TIMESTEP_CHANNELS, ModulatedResBlock, zero_init
from physplan_sandbox.models.residual_prediction import ResidualStats


class DrawingNet(ModelMixin, ConfigMixin):
    """Predicts the clean residual [N, C, h, w] of single frames."""

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
        # The autoencoder's basis and scale of the drawn channels: compositing happens in pixel space.
        self.register_buffer("patterns", torch.eye(PATCH_VALUES)[:drawn])
        self.register_buffer("scale", torch.ones(drawn))
        self.level = nn.Sequential(
            nn.Linear(TIMESTEP_CHANNELS, TIMESTEP_CHANNELS),
            nn.SiLU(),
            nn.Linear(TIMESTEP_CHANNELS, TIMESTEP_CHANNELS),
        )
        self.enter = nn.Conv2d(drawn * (looks + 1) + PATCH_VALUES, width, 3, padding=1)
        self.residuals = nn.ModuleList(ModulatedResBlock(width) for _ in range(blocks))
        self.copier = BlockCopier(width, drawn)
        self.tells = zero_init(nn.Conv2d(2 * drawn, width, 1))
        self.leave = nn.Conv2d(width, (3 if outlined else 2) * drawn, 3, padding=1)
        self.cut = mask_head(width, 1, CELL_SIZE**2)
        nn.init.zeros_(self.leave.weight)

    def forward(
        self,
        noisy: Tensor,
        picture: Tensor,
        blocks: Tensor,
        timesteps: Tensor,
        spread: ResidualStats,
        alpha: Tensor,
        sigma: Tensor,
        corners: Tensor | None = None,
        outlines: Tensor | None = None,
    ) -> Tensor:
        """noisy: residuals of a frame and its neighbours [N, C, moments, h, w]; picture: the first frame's
        latent [N, C + 108, h, w]; blocks [P, C, rows, columns]; timesteps, alpha, sigma [N]; corners [N, 2]:
        the first cell of a crop; outlines: shaped like `noisy`."""
        start = picture[:, : spread.channels]
        wide_alpha, wide_sigma = (x.view(-1, 1, 1, 1) for x in (alpha, sigma))
        shown = spread.flat().c_in(wide_alpha, wide_sigma)[:, :, None] * noisy
        now = self.config.moments.index(0)
        middle, looks = noisy[:, :, now], [shown] if outlines is None else [shown, outlines]
        level = self.level(
            get_timestep_embedding(timesteps, TIMESTEP_CHANNELS, flip_sin_to_cos=True).to(noisy.dtype)
        )
        seen_by_all = [look.transpose(1, 2).flatten(1, 2) for look in looks]
        x = self.enter(torch.cat([*seen_by_all, picture], dim=1))
        for block in self.residuals[: self.config.asks_after]:
            x = block(x, level)
        if corners is None:
            corners = torch.zeros(len(noisy), 2, device=noisy.device)
        places = cell_positions(corners.float(), *noisy.shape[-2:])
        seen = (middle + wide_alpha * start)[:, :, None]
        copies = self.copier(x, blocks, seen, alpha, sigma, places)[:, :, :, 0]
        x = x + self.tells((copies - start[:, None]).flatten(1, 2))
        for block in self.residuals[self.config.asks_after :]:
            x = block(x, level)
        x = F.silu(x)
        found = self.leave(x).float()
        drawn = spread.flat().residual(found[:, : 2 * spread.channels], middle, wide_alpha, wide_sigma)
        if outlines is not None:  # gated skip from the outline prediction
            drawn = drawn + found[:, 2 * spread.channels :].sigmoid() * outlines[:, :, now]
        cut = self.cut(x).float().sigmoid()
        return drawn + cut[:, :1] * (self.laid_over(copies, cut[:, 1:]) - start - drawn)

    def laid_over(self, copies: Tensor, mask: Tensor) -> Tensor:
        """Composites the first of two copies [N, 2, C, h, w] by a pixel mask [N, 36, h, w]."""
        with torch.autocast("cpu", enabled=False):
            front, back = copies.float().unbind(dim=1)
            scale = self.scale.view(-1, 1, 1)
            patterns = self.patterns[:, :, None, None]
            front_less_back = F.conv2d((front - back) * scale, patterns.transpose(0, 1))
            return back + F.conv2d(front_less_back * mask.repeat(1, 3, 1, 1), patterns) / scale

    @torch.no_grad()
    def draw_with(self, patterns: Tensor, scale: Tensor) -> None:
        """Copies the autoencoder's basis and scale."""
        self.patterns.copy_(patterns[: len(self.patterns)])
        self.scale.copy_(scale)

    def neighbours(self, noisy: Tensor, frames: Tensor | None = None) -> Tensor:
        """[B, C, F, h, w] -> [B * F, C, moments, h, w], or for some frames only. The first frame's residual
        is zero; neighbours before the first and after the last frame are zero-padded."""
        moments = self.config.moments
        before, after = -min(moments), max(moments)
        padded = F.pad(noisy[:, :, 1:], (0, 0, 0, 0, 1 + before, after))
        if frames is None:
            frames = torch.arange(noisy.shape[2], device=noisy.device)
        found = [padded[:, :, before + moment + frames] for moment in moments]
        return torch.stack(found, dim=2).permute(0, 3, 1, 2, 4, 5).flatten(0, 1)
