"""Redraws decoded frames from the picture's own pixels.

What moves in this world was in the picture a moment before. A decoded frame says what is where, softly and
with the noise that a video model left; the picture shows what it looks like. So each place of the frame is
looked up in the picture, and every pixel becomes a mixture of three: the picture's pixel at the same place,
the picture's pixel where the thing was, and what the decoder painted (what was not there before: a puddle,
the table that a thing uncovers).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from physplan.sandbox.models.layers import Residual, zeroed

CELL = 4  # pixels per side of the cells that are looked up
NEAR = 2  # cells around the best one that have a say in where exactly


class PictureCopier(nn.Module):
    """Frames [B, 3, H, W] in [-1, 1] and their picture, or one picture for all of them, to frames."""

    def __init__(self, width: int = 64, fine: int = 40, blocks: tuple[int, int] = (3, 3)) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.PixelUnshuffle(2),
            nn.Conv2d(12, width // 2, 3, padding=1),
            Residual(width // 2),
            nn.PixelUnshuffle(2),
            nn.Conv2d(2 * width, width, 1),
            *(Residual(width) for _ in range(blocks[0])),
        )
        self.ask = nn.Conv2d(width, width, 1)
        self.answer = nn.Conv2d(width, width, 1)
        self.fine = nn.Sequential(
            nn.Conv2d(36 + 3 + 16, fine, 3, padding=1),
            *(Residual(fine) for _ in range(blocks[1])),
            zeroed(nn.Conv2d(fine, 4 * 8, 3, padding=1)),
            nn.PixelShuffle(2),
        )
        self.seen = nn.Conv2d(width, 16, 1)

    def forward(self, frames: Tensor, picture: Tensor) -> Tensor:
        return self.explain(frames, picture)[0]

    def explain(self, frames: Tensor, picture: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The frames, the sources [B, 2, H, W] of their pixels (column and row), the logits of each cell's
        match [B, cells, cells], and the shares [B, 3, H, W] of same place, source and paint."""
        found, known = self.features(frames), self.features(picture)
        logits = self.match(self.ask(found).flatten(2).transpose(1, 2), self.answer(known).flatten(2))
        rows, columns = found.shape[-2:]
        places = cell_centres(rows, columns).to(logits)
        sources, sure = look_up(logits, places)
        shift = (sources - places).transpose(1, 2).unflatten(2, (rows, columns))
        sure = sure.transpose(1, 2).unflatten(2, (rows, columns))
        told = self.seen(found).float()
        redrawn, exact, shares = self.redraw(frames, picture.expand_as(frames), shift, sure, told)
        return redrawn, exact, logits, shares

    def match(self, asked: Tensor, answers: Tensor) -> Tensor:
        """Logits [B, N, M] of what is asked for, [B, N, C], among the answers [B, C, M]."""
        return (asked @ answers).float() / answers.shape[-1] ** 0.25

    def redraw(
        self, painted: Tensor, picture: Tensor, shift: Tensor, sure: Tensor, told: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Frames, sources and shares from a painted frame and, for each cell, how many pixels away its source
        is [B, 2, h, w], how sure that is [B, 1, h, w] and more about it [B, 16, h, w]."""
        shift = F.interpolate(shift, scale_factor=CELL, mode="nearest")
        here = pixel_places(*painted.shape[-2:]).to(shift)
        rough = sample(picture, here + shift)
        pixels = F.pixel_unshuffle(torch.cat([painted, rough, picture], dim=1), 2)
        hints = [
            shift[..., ::2, ::2] / painted.shape[-1],
            F.interpolate(sure, scale_factor=2.0, mode="nearest"),
            F.interpolate(told, scale_factor=2.0, mode="bilinear"),
        ]
        found = self.fine(torch.cat([pixels, *hints], dim=1)).float()
        exact = here + shift + CELL * found[:, :2]
        shares = (found[:, 2:5] + found.new_tensor([0.0, 0.0, 1.0]).view(1, 3, 1, 1)).softmax(dim=1)
        layers = [picture.float(), sample(picture, exact), painted.float() + found[:, 5:8]]
        return (shares[:, :, None] * torch.stack(layers, dim=1)).sum(dim=1), exact, shares


def look_up(logits: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """Where each cell was, [B, N, 2], as the mean of the cells near the best one; and how sure that is."""
    chances = logits.softmax(dim=-1)
    best = places[chances.argmax(dim=-1)]  # [B, N, 2]
    near = (places[None, None] - best[:, :, None]).abs().amax(dim=-1) <= NEAR * CELL
    local = chances * near
    sure = local.sum(dim=-1, keepdim=True)
    return (local / sure.clamp(min=1e-6)) @ places, sure


def cell_centres(rows: int, columns: int) -> Tensor:
    """[rows * columns, 2]: column and row of the cells' middles, in pixels."""
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    return CELL * torch.stack([x, y], dim=-1).flatten(0, 1).float() + (CELL - 1) / 2


def pixel_places(rows: int, columns: int) -> Tensor:
    """[1, 2, rows, columns]: column and row of every pixel."""
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    return torch.stack([x, y])[None].float()


def sample(picture: Tensor, places: Tensor) -> Tensor:
    """The picture [B, 3, H, W] at places [B, 2, H, W] in pixels."""
    size = places.new_tensor([picture.shape[-1], picture.shape[-2]]).view(1, 2, 1, 1)
    grid = ((2 * places + 1) / size - 1).permute(0, 2, 3, 1)
    return F.grid_sample(picture.float(), grid.float(), padding_mode="border", align_corners=False)
