"""The denoiser of much noise: what goes where, at half the size and half the rate.

Under much noise a single cell shows nothing, while eight together still do. So networks take turns, as in Wan
2.2: this one, small enough to see whole clips many times over, settles the outlines while noise hides all
else, another gives them their contours (`physplan.sandbox.models.contour`), a third draws. Its noisy input is
the mean over 2 x 2 cells of 2 frames, in which the noise is smaller by the root of eight; its answer is one
departure for them all.

It looks twice. First all moments are channels of one picture, so that every convolution sees the whole of
time; then every moment is retouched by the same weights, which see it among its neighbours: a ball looks the
same early and late.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.embeddings import get_timestep_embedding
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn

from physplan.sandbox.models import lots
from physplan.sandbox.models.copying import Copier, cutter, pairs, places_of_cells
from physplan.sandbox.models.departures import Spread
from physplan.sandbox.models.layers import LEVELS, Told, zeroed

BLOCK = 2  # cells per side, and frames
QUIETER = BLOCK**-1.5  # of the noise, in the mean of a block
LOUD = 4.0  # so much faster what lots mean is learnt than all else
MUCH = 420  # noise steps from this one on are the outline's


def shrink(latents: Tensor) -> Tensor:
    """[B, C, 1 + 2k, 2h, 2w] -> [B, C, k, h, w]: the first frame is the picture, and known."""
    return F.avg_pool3d(latents[:, :, 1:], BLOCK)


def enlarge(small: Tensor) -> Tensor:
    """[B, C, k, h, w] -> [B, C, 1 + 2k, 2h, 2w], nothing in the first frame."""
    large = F.interpolate(small, scale_factor=float(BLOCK), mode="nearest")
    return F.pad(large, (0, 0, 0, 0, 1, 0))


class OutlineNet(ModelMixin, ConfigMixin):
    """The departure [B, C, k, h, w] of shrunken clips as it is when the noise is gone."""

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
        self.level = nn.Sequential(nn.Linear(LEVELS, LEVELS), nn.SiLU(), nn.Linear(LEVELS, LEVELS))
        self.words = nn.Linear(tokens * text_width, LEVELS)
        self.chance = Chance(tokens * text_width, width)
        shown = drawn * (moments + BLOCK**2) + 4
        self.enter = nn.Conv2d(shown, width, 3, padding=1)
        self.residuals = nn.ModuleList(Told(width) for _ in range(depth))
        self.copier = Copier(width, drawn, moments=moments)
        self.tells = zeroed(nn.Conv2d(2 * drawn * moments, width, 1))
        self.leave = nn.Conv2d(width, 2 * drawn * moments, 3, padding=1)
        self.cut = cutter(width, moments, moments)
        nn.init.zeros_(self.leave.weight)
        self.retouch = Retouch(drawn, moments, retouch_width, retouches)

    def forward(
        self,
        noisy: Tensor,
        picture: Tensor,
        blocks: Tensor,
        timesteps: Tensor,
        text: Tensor,
        spread: Spread,
        alpha: Tensor,
        sigma: Tensor,
        drawn_lots: Tensor,
    ) -> Tensor:
        """From shrunken noisy departures [B, C, k, h, w], the picture's latent [B, C, 2h, 2w], its blocks
        [B, C, rows, columns], the noise step, the words [B, tokens, channels], alpha and sigma [B], and what
        chance decided [B, numbers] (`physplan.sandbox.models.lots`)."""
        level = self.level(get_timestep_embedding(timesteps, LEVELS, flip_sin_to_cos=True).to(noisy.dtype))
        of_all, of_cells = self.chance(text.flatten(1), drawn_lots)
        told = level + self.words(text.flatten(1)) + of_all
        wide_alpha, wide_sigma = (x.view(-1, 1, 1, 1, 1) for x in (alpha, sigma))
        shown = (spread.inn(wide_alpha, wide_sigma) * noisy).flatten(1, 2)
        places = places_of(noisy.shape[-1]).to(noisy).expand(len(noisy), -1, -1, -1)
        still = torch.cat([F.pixel_unshuffle(picture, BLOCK), places], dim=1)
        x = self.enter(torch.cat([shown, still, columns_of(drawn_lots, places)], dim=1)) + of_cells
        for block in self.residuals[: self.config.asks_after]:
            x = block(x, told)
        start = F.avg_pool2d(picture, BLOCK)[:, :, None]
        cells = places_of_cells(torch.zeros(len(noisy), 2).to(noisy), *noisy.shape[-2:])
        copies = self.copier(x, pairs(blocks), noisy + wide_alpha * start, alpha, sigma, cells)
        x = x + self.tells((copies - start[:, None]).flatten(1, 3))
        for block in self.residuals[self.config.asks_after :]:
            x = block(x, told)
        x = F.silu(x)
        found = self.leave(x).float().unflatten(1, (-1, noisy.shape[2]))
        drawn = spread.departure(found, noisy, wide_alpha, wide_sigma)
        copied, front = self.cut(x).float().sigmoid().unflatten(1, (2, 1, -1)).unbind(dim=1)
        over = copies[:, 1] + front * (copies[:, 0] - copies[:, 1])
        first = drawn + copied * (over - start - drawn)
        seen = torch.cat(
            [shown.unflatten(1, (-1, noisy.shape[2])), first, *(copies - start[:, None]).unbind(1)], 1
        )
        return first + spread.scale * self.retouch(seen, still, told)


class Chance(nn.Module):
    """What a lot means depends on the words: a number is another outcome for ice than for a ball. So what is
    read of both is multiplied; beside so many words a few numbers would not be heard."""

    def __init__(self, text_width: int, width: int, hidden: int = 256) -> None:
        super().__init__()
        self.words = nn.Linear(text_width, hidden)
        self.lots = nn.Linear(lots.ABOUT, hidden)
        nn.init.normal_(self.lots.weight)
        self.both = nn.Linear(hidden, hidden)
        self.of_all = zeroed(nn.Linear(hidden, LEVELS))
        self.of_cells = zeroed(nn.Linear(hidden, width))

    def forward(self, text: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
        """What all blocks are told [B, levels], and what is added to every cell [B, width, 1, 1]; nothing
        of a lot that is not known."""
        known = LOUD * drawn[:, :1]
        read = F.silu(self.both(F.silu(self.words(text)) * self.lots(drawn[:, : lots.ABOUT])))
        return known * self.of_all(read), (known * self.of_cells(read))[:, :, None, None]


class Retouch(nn.Module):
    """What to add to each moment's departure, by weights that all moments share."""

    def __init__(self, drawn: int, moments: int, width: int, depth: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(4 * drawn, width, 3, padding=1)
        self.still = nn.Conv2d(drawn * BLOCK**2 + 2, width, 3, padding=1)
        self.times = nn.Parameter(torch.zeros(moments, width, 1, 1))
        self.looks = nn.ModuleList(Told(width) for _ in range(depth))
        self.passing = nn.ModuleList(
            zeroed(nn.Conv2d(width, width, (5, 1), padding=(2, 0))) for _ in range(depth)
        )
        self.leave = zeroed(nn.Conv2d(width, drawn, 3, padding=1))

    def forward(self, seen: Tensor, still: Tensor, told: Tensor) -> Tensor:
        """[B, C, k, h, w] from what is known of each moment [B, 4C, k, h, w], what stays [B, ..., h, w]."""
        batch, moments = len(seen), seen.shape[2]
        x = self.enter(seen.transpose(1, 2).flatten(0, 1))
        x = (x.unflatten(0, (batch, moments)) + self.still(still)[:, None] + self.times).flatten(0, 1)
        told = told.repeat_interleave(moments, dim=0)
        for look, passing in zip(self.looks, self.passing, strict=True):
            x = look(x, told)
            in_time = F.silu(x).unflatten(0, (batch, moments)).transpose(1, 2).flatten(3)
            x = x + passing(in_time).transpose(1, 2).reshape_as(x)
        return self.leave(F.silu(x)).float().unflatten(0, (batch, moments)).transpose(1, 2)


def columns_of(drawn: Tensor, places: Tensor) -> Tensor:
    """[B, 2, h, w]: where a lot names a column, a one and how far each cell is from it."""
    column, named = (x[:, None, None, None] for x in (drawn[:, -1], drawn[:, -1] != 0))
    far = places[:, 1:] - column
    return torch.cat([torch.ones_like(far), far], dim=1) * named


def places_of(side: int) -> Tensor:
    """[1, 2, side, side]: row and column from -1 to 1, since convolutions do not know them."""
    cells = torch.linspace(-1, 1, side)
    return torch.stack(torch.meshgrid(cells, cells, indexing="ij"))[None]
