"""Outline denoiser: half resolution and half the frame rate, for high noise levels.

- Denoisers take turns by noise level, as Wan 2.2's experts do: above `HANDOFF_TIMESTEP` outline and contour
  (`physplan_sandbox.models.contour`), below it drawing.
- Input: means over 2 x 2 cells of 2 frames, which lowers the noise's std by sqrt(8); output: one residual
  per block.
- First stage: all frames are channels of one image, so each convolution sees the whole clip. Second stage:
  a per-frame refiner with weights shared over time.

Names of parameters are those of the stored weights.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.embeddings import get_timestep_embedding
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn

from physplan_sandbox.models.copying import BlockCopier, average_blocks, cell_positions, mask_head
from physplan_sandbox.models.layers import TIMESTEP_CHANNELS, ModulatedResBlock, zero_init
from physplan_sandbox.models.outcome_code import GLOBAL_SIZE
from physplan_sandbox.models.residual_prediction import ResidualStats

BLOCK_SIZE = 2  # cells per side, and frames
BLOCK_NOISE_SCALE = BLOCK_SIZE**-1.5  # std of noise averaged over a block
OUTCOME_GAIN = 4.0  # raises the learning rate of the outcome embedding
HANDOFF_TIMESTEP = 420  # outline and contour denoise from here up, drawing below


def downsample(latents: Tensor) -> Tensor:
    """[B, C, 1 + 2k, 2h, 2w] -> [B, C, k, h, w]: block means; the first frame is dropped."""
    return F.avg_pool3d(latents[:, :, 1:], BLOCK_SIZE)


def upsample(small: Tensor) -> Tensor:
    """[B, C, k, h, w] -> [B, C, 1 + 2k, 2h, 2w], nearest; zero in the first frame."""
    large = F.interpolate(small, scale_factor=float(BLOCK_SIZE), mode="nearest")
    return F.pad(large, (0, 0, 0, 0, 1, 0))


class OutlineNet(ModelMixin, ConfigMixin):
    """Predicts the clean residual [B, C, k, h, w] of downsampled clips."""

    @register_to_config
    def __init__(
        self,
        drawn: int = 24,
        moments: int = 16,
        width: int = 256,
        depth: int = 8,
        asks_after: int = 4,
        tokens: int = 12,
        text_width: int = 64,
        retouches: int = 4,
        retouch_width: int = 96,
    ) -> None:
        super().__init__()
        self.level = nn.Sequential(
            nn.Linear(TIMESTEP_CHANNELS, TIMESTEP_CHANNELS),
            nn.SiLU(),
            nn.Linear(TIMESTEP_CHANNELS, TIMESTEP_CHANNELS),
        )
        self.words = nn.Linear(tokens * text_width, TIMESTEP_CHANNELS)
        self.chance = OutcomeEmbedding(tokens * text_width, width)
        shown = drawn * (moments + BLOCK_SIZE**2) + 4
        self.enter = nn.Conv2d(shown, width, 3, padding=1)
        self.residuals = nn.ModuleList(ModulatedResBlock(width) for _ in range(depth))
        self.copier = BlockCopier(width, drawn, moments=moments)
        self.tells = zero_init(nn.Conv2d(2 * drawn * moments, width, 1))
        self.leave = nn.Conv2d(width, 2 * drawn * moments, 3, padding=1)
        self.cut = mask_head(width, moments, moments)
        nn.init.zeros_(self.leave.weight)
        self.retouch = FrameRefiner(drawn, moments, retouch_width, retouches)

    def forward(
        self,
        noisy: Tensor,
        picture: Tensor,
        blocks: Tensor,
        timesteps: Tensor,
        text: Tensor,
        spread: ResidualStats,
        alpha: Tensor,
        sigma: Tensor,
        code: Tensor,
    ) -> Tensor:
        """noisy: downsampled residuals [B, C, k, h, w]; picture: the first frame's latent [B, C, 2h, 2w];
        blocks [B, C, rows, columns]; timesteps, alpha, sigma [B]; text [B, tokens, channels]; code
        [B, CODE_SIZE]."""
        level = self.level(
            get_timestep_embedding(timesteps, TIMESTEP_CHANNELS, flip_sin_to_cos=True).to(noisy.dtype)
        )
        of_all, of_cells = self.chance(text.flatten(1), code)
        told = level + self.words(text.flatten(1)) + of_all
        wide_alpha, wide_sigma = (x.view(-1, 1, 1, 1, 1) for x in (alpha, sigma))
        shown = (spread.c_in(wide_alpha, wide_sigma) * noisy).flatten(1, 2)
        places = coordinate_grid(noisy.shape[-1]).to(noisy).expand(len(noisy), -1, -1, -1)
        still = torch.cat([F.pixel_unshuffle(picture, BLOCK_SIZE), places], dim=1)
        x = self.enter(torch.cat([shown, still, column_map(code, places)], dim=1)) + of_cells
        for block in self.residuals[: self.config.asks_after]:
            x = block(x, told)
        start = F.avg_pool2d(picture, BLOCK_SIZE)[:, :, None]
        cells = cell_positions(torch.zeros(len(noisy), 2).to(noisy), *noisy.shape[-2:])
        copies = self.copier(x, average_blocks(blocks), noisy + wide_alpha * start, alpha, sigma, cells)
        x = x + self.tells((copies - start[:, None]).flatten(1, 3))
        for block in self.residuals[self.config.asks_after :]:
            x = block(x, told)
        x = F.silu(x)
        found = self.leave(x).float().unflatten(1, (-1, noisy.shape[2]))
        drawn = spread.residual(found, noisy, wide_alpha, wide_sigma)
        copied, front = self.cut(x).float().sigmoid().unflatten(1, (2, 1, -1)).unbind(dim=1)
        over = copies[:, 1] + front * (copies[:, 0] - copies[:, 1])
        first = drawn + copied * (over - start - drawn)
        seen = torch.cat(
            [shown.unflatten(1, (-1, noisy.shape[2])), first, *(copies - start[:, None]).unbind(1)], 1
        )
        return first + spread.scale * self.retouch(seen, still, told)


class OutcomeEmbedding(nn.Module):
    """Embeds text and outcome code jointly by a product: the meaning of a slot depends on the prompt."""

    def __init__(self, text_width: int, width: int, hidden: int = 256) -> None:
        super().__init__()
        self.words = nn.Linear(text_width, hidden)
        self.lots = nn.Linear(GLOBAL_SIZE, hidden)
        nn.init.normal_(self.lots.weight)
        self.both = nn.Linear(hidden, hidden)
        self.of_all = zero_init(nn.Linear(hidden, TIMESTEP_CHANNELS))
        self.of_cells = zero_init(nn.Linear(hidden, width))

    def forward(self, text: Tensor, code: Tensor) -> tuple[Tensor, Tensor]:
        """Modulation [B, 64] and a bias for every cell [B, width, 1, 1]; zero for an unknown code."""
        known = OUTCOME_GAIN * code[:, :1]
        read = F.silu(self.both(F.silu(self.words(text)) * self.lots(code[:, :GLOBAL_SIZE])))
        return known * self.of_all(read), (known * self.of_cells(read))[:, :, None, None]


class FrameRefiner(nn.Module):
    """Refines each frame's residual with weights shared over time."""

    def __init__(self, drawn: int, moments: int, width: int, depth: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(4 * drawn, width, 3, padding=1)
        self.still = nn.Conv2d(drawn * BLOCK_SIZE**2 + 2, width, 3, padding=1)
        self.times = nn.Parameter(torch.zeros(moments, width, 1, 1))
        self.looks = nn.ModuleList(ModulatedResBlock(width) for _ in range(depth))
        self.passing = nn.ModuleList(
            zero_init(nn.Conv2d(width, width, (5, 1), padding=(2, 0))) for _ in range(depth)
        )
        self.leave = zero_init(nn.Conv2d(width, drawn, 3, padding=1))

    def forward(self, seen: Tensor, still: Tensor, told: Tensor) -> Tensor:
        """[B, C, k, h, w] from per-frame inputs [B, 4C, k, h, w] and static inputs [B, ..., h, w]."""
        batch, moments = len(seen), seen.shape[2]
        x = self.enter(seen.transpose(1, 2).flatten(0, 1))
        x = (x.unflatten(0, (batch, moments)) + self.still(still)[:, None] + self.times).flatten(0, 1)
        told = told.repeat_interleave(moments, dim=0)
        for look, passing in zip(self.looks, self.passing, strict=True):
            x = look(x, told)
            in_time = F.silu(x).unflatten(0, (batch, moments)).transpose(1, 2).flatten(3)
            x = x + passing(in_time).transpose(1, 2).reshape_as(x)
        return self.leave(F.silu(x)).float().unflatten(0, (batch, moments)).transpose(1, 2)


def column_map(code: Tensor, places: Tensor) -> Tensor:
    """[B, 2, h, w]: ones, and each cell's distance to the code's column; zero without one."""
    column, named = (x[:, None, None, None] for x in (code[:, -1], code[:, -1] != 0))
    far = places[:, 1:] - column
    return torch.cat([torch.ones_like(far), far], dim=1) * named


def coordinate_grid(side: int) -> Tensor:
    """[1, 2, side, side]: row and column from -1 to 1 (CoordConv)."""
    cells = torch.linspace(-1, 1, side)
    return torch.stack(torch.meshgrid(cells, cells, indexing="ij"))[None]
