"""What moves looks like something in the picture: denoisers that may copy it from there.

A small network cannot carry the looks of a ball through noise, but it can say where the ball was. So each
cell looks up the blocks of the picture, taken at every third pixel, and gets a mixture of them. How well one
fits is the sum of three things: how likely it makes what is seen under this noise, which is no more than
Bayes' rule; how well its surroundings answer what the network asks for; and how near it is to the place from
which the network believes the cell to come.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from physplan.sandbox.models.layers import zeroed

STRIDE = 3  # pixels between the blocks that can be copied
WORDS = 32  # channels in which questions and answers are put
NEAR = (-5.0, 0.5)  # how much nearness counts at first, before a softplus: anywhere, and close by
COPIED = -2.0  # before a sigmoid: how much is copied at first
FAR = 4.0  # cells: the unit in which a network tells where a cell comes from
ALIKE = 0.2  # how far a copy is from what it stands for, in latents


class Copier(nn.Module):
    """Two mixtures of blocks per cell: one from anywhere, one to begin with from close by."""

    def __init__(self, width: int, drawn: int, *, moments: int = 1) -> None:
        super().__init__()
        self.moments = moments
        self.asks = zeroed(nn.Conv2d(width, len(NEAR) * moments * (WORDS + 3), 1))
        self.answers = nn.Sequential(
            nn.Conv2d(drawn, 48, 3, padding=1), nn.SiLU(), nn.Conv2d(48, len(NEAR) * WORDS, 3, padding=1)
        )
        self.gain = nn.Parameter(torch.tensor([1.0, 0.2]))
        self.alike = nn.Parameter(torch.full((len(NEAR),), ALIKE))

    def forward(
        self, x: Tensor, blocks: Tensor, seen: Tensor, alpha: Tensor, sigma: Tensor, places: Tensor
    ) -> Tensor:
        """Copies [N, 2, C, moments, h, w] for features [N, width, h, w] and noisy latents `seen`
        [N, C, moments, h, w], at their cells' `places` [N, 2, h, w]; `blocks` [P, C, rows, columns] lie every
        half cell in each of P pictures, N / P of the inputs belong to each. `alpha`, `sigma`: [N]."""
        count, side = len(x) // len(blocks), seen.shape[-2:]
        asked = self.asks(x).float().unflatten(1, (len(NEAR), self.moments, WORDS + 3))
        answered = self.answers(blocks).float().unflatten(1, (len(NEAR), WORDS))
        values, found = blocks.flatten(2), []  # [P, C, M]
        with torch.autocast("cpu", enabled=False):
            for head in range(len(NEAR)):
                questions = self._questions(head, asked[:, head], seen.float(), alpha, sigma, places)
                cells = questions.unflatten(0, (-1, count)).flatten(1, 2)  # [P, cells, Q]
                fits = cells @ keys_of(blocks, answered[:, head])
                mixed = torch.softmax(fits, dim=-1) @ values.transpose(1, 2)
                found.append(mixed.unflatten(1, (count, -1)).flatten(0, 1).transpose(1, 2))
        return torch.stack(found, dim=1).unflatten(3, (self.moments, *side))

    def _questions(
        self, head: int, asked: Tensor, seen: Tensor, alpha: Tensor, sigma: Tensor, places: Tensor
    ) -> Tensor:
        """[N, cells, Q]: their products with `keys_of` say how well blocks fit, but for what is the same for
        all of them: the log likelihood of what is seen, the answer to what is asked, and nearness."""
        alpha, sigma = alpha.view(-1, 1, 1, 1, 1), sigma.view(-1, 1, 1, 1, 1)
        sure = self.gain[head] / (sigma**2 + (alpha * self.alike[head]) ** 2)
        near = F.softplus(asked[:, :, WORDS : WORDS + 1] + NEAR[head])
        source = places[:, None] + FAR * asked[:, :, WORDS + 1 :]
        questions = torch.cat(
            [
                (alpha * sure * seen).transpose(1, 2),
                (-0.5 * alpha**2 * sure).transpose(1, 2).expand(*near.shape),
                asked[:, :, :WORDS],
                -near,
                2.0 * near * source,
            ],
            dim=2,
        )  # [N, moments, Q, h, w]
        return questions.permute(0, 1, 3, 4, 2).flatten(1, 3)


def keys_of(blocks: Tensor, answered: Tensor) -> Tensor:
    """[P, Q, M]: of every block its latent, its length, its answers and its place."""
    values, places = blocks.flatten(2), places_of_blocks(blocks)
    lengths = (x.square().sum(dim=-2, keepdim=True) for x in (values, places))
    of_latents, of_places = (x.expand(len(blocks), 1, -1) for x in lengths)
    shared = places.expand(len(blocks), -1, -1)
    return torch.cat([values, of_latents, answered.flatten(2), of_places, shared], dim=1)


def cutter(width: int, copied: int, masks: int) -> nn.Conv2d:
    """Gives, before a sigmoid, how much is copied, little at first, and where the first copy lies before the
    second."""
    layer = zeroed(nn.Conv2d(width, copied + masks, 3, padding=1))
    assert layer.bias is not None
    nn.init.constant_(layer.bias[:copied], COPIED)
    return layer


def places_of_blocks(blocks: Tensor) -> Tensor:
    """[2, M]: row and column of every block's corner, in cells; two blocks to a cell each way."""
    rows, columns = (torch.arange(n) * 0.5 for n in blocks.shape[-2:])
    return torch.stack(torch.meshgrid(rows, columns, indexing="ij")).flatten(1).to(blocks)


def places_of_cells(corners: Tensor, height: int, width: int) -> Tensor:
    """[N, 2, h, w] from the place of the first cell of each, [N, 2]."""
    rows, columns = torch.arange(height), torch.arange(width)
    grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij")).to(corners)
    return corners[:, :, None, None] + grid


def pairs(blocks: Tensor) -> Tensor:
    """Means over 2 x 2 blocks that touch, every second one: as an outline's cells have them."""
    rows, columns = blocks.shape[2] - 2, blocks.shape[3] - 2
    found = [blocks[:, :, y : y + rows : 2, x : x + columns : 2] for y in (0, 2) for x in (0, 2)]
    return torch.stack(found).mean(dim=0)
