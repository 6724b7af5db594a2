"""Cross-attention from latent cells to blocks of the first frame, whose values are copied.

Moving objects mostly look like they do in the first frame, so a small network only has to say where they
come from. Keys are blocks at every third pixel. The attention logit is a sum of three parts: the Gaussian
log likelihood of the noisy latent given the block, a learnt query-key product, and the squared distance to a
predicted source position.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from physplan_sandbox.models.layers import zero_init

BLOCK_STRIDE = 3  # pixels between blocks
QUERY_CHANNELS = 32  # channels of queries and keys
NEARNESS_INIT = (-5.0, 0.5)  # initial weight of the distance, before a softplus, per head: global, local
COPY_GATE_INIT = -2.0  # initial copy gate, before a sigmoid
SOURCE_SCALE = 4.0  # cells per unit of the predicted source offset
COPY_STD_INIT = 0.2  # initial std between a block and what it stands for, in latents


class BlockCopier(nn.Module):
    """Two attention heads over blocks per cell: one global, one initially local."""

    def __init__(self, width: int, drawn: int, *, moments: int = 1) -> None:
        super().__init__()
        self.moments = moments
        self.asks = zero_init(nn.Conv2d(width, len(NEARNESS_INIT) * moments * (QUERY_CHANNELS + 3), 1))
        self.answers = nn.Sequential(
            nn.Conv2d(drawn, 48, 3, padding=1),
            nn.SiLU(),
            nn.Conv2d(48, len(NEARNESS_INIT) * QUERY_CHANNELS, 3, padding=1),
        )
        self.gain = nn.Parameter(torch.tensor([1.0, 0.2]))
        self.alike = nn.Parameter(torch.full((len(NEARNESS_INIT),), COPY_STD_INIT))

    def forward(
        self, x: Tensor, blocks: Tensor, seen: Tensor, alpha: Tensor, sigma: Tensor, places: Tensor
    ) -> Tensor:
        """Copies [N, 2, C, moments, h, w] for features [N, width, h, w] and noisy latents `seen`
        [N, C, moments, h, w] at cell positions `places` [N, 2, h, w]. `blocks` [P, C, rows, columns]: every
        half cell of P first frames, each shared by N / P inputs. `alpha`, `sigma`: [N]."""
        count, side = len(x) // len(blocks), seen.shape[-2:]
        asked = self.asks(x).float().unflatten(1, (len(NEARNESS_INIT), self.moments, QUERY_CHANNELS + 3))
        keys = self.answers(blocks).float().unflatten(1, (len(NEARNESS_INIT), QUERY_CHANNELS))
        values, found = blocks.flatten(2), []  # [P, C, M]
        with torch.autocast("cpu", enabled=False):
            for head in range(len(NEARNESS_INIT)):
                queries = self._queries(head, asked[:, head], seen.float(), alpha, sigma, places)
                cells = queries.unflatten(0, (-1, count)).flatten(1, 2)  # [P, cells, Q]
                logits = cells @ block_keys(blocks, keys[:, head])
                mixed = torch.softmax(logits, dim=-1) @ values.transpose(1, 2)
                found.append(mixed.unflatten(1, (count, -1)).flatten(0, 1).transpose(1, 2))
        return torch.stack(found, dim=1).unflatten(3, (self.moments, *side))

    def _queries(
        self, head: int, asked: Tensor, seen: Tensor, alpha: Tensor, sigma: Tensor, places: Tensor
    ) -> Tensor:
        """[N, cells, Q]: queries whose product with `block_keys` is the logit up to a constant per cell: log
        likelihood, query-key product, negative weighted distance."""
        alpha, sigma = alpha.view(-1, 1, 1, 1, 1), sigma.view(-1, 1, 1, 1, 1)
        precision = self.gain[head] / (sigma**2 + (alpha * self.alike[head]) ** 2)
        near = F.softplus(asked[:, :, QUERY_CHANNELS : QUERY_CHANNELS + 1] + NEARNESS_INIT[head])
        source = places[:, None] + SOURCE_SCALE * asked[:, :, QUERY_CHANNELS + 1 :]
        queries = torch.cat(
            [
                (alpha * precision * seen).transpose(1, 2),
                (-0.5 * alpha**2 * precision).transpose(1, 2).expand(*near.shape),
                asked[:, :, :QUERY_CHANNELS],
                -near,
                2.0 * near * source,
            ],
            dim=2,
        )  # [N, moments, Q, h, w]
        return queries.permute(0, 1, 3, 4, 2).flatten(1, 3)


def block_keys(blocks: Tensor, keys: Tensor) -> Tensor:
    """[P, Q, M]: per block its latent, squared norm, learnt key and position."""
    values, places = blocks.flatten(2), block_positions(blocks)
    lengths = (x.square().sum(dim=-2, keepdim=True) for x in (values, places))
    latent_fingerprint, of_places = (x.expand(len(blocks), 1, -1) for x in lengths)
    shared = places.expand(len(blocks), -1, -1)
    return torch.cat([values, latent_fingerprint, keys.flatten(2), of_places, shared], dim=1)


def mask_head(width: int, copied: int, masks: int) -> nn.Conv2d:
    """Output layer, before a sigmoid: copy gates (initially nearly closed) and masks of the first copy."""
    layer = zero_init(nn.Conv2d(width, copied + masks, 3, padding=1))
    assert layer.bias is not None
    nn.init.constant_(layer.bias[:copied], COPY_GATE_INIT)
    return layer


def block_positions(blocks: Tensor) -> Tensor:
    """[2, M]: row and column of each block's corner, in cells; two blocks per cell and axis."""
    rows, columns = (torch.arange(n) * 0.5 for n in blocks.shape[-2:])
    return torch.stack(torch.meshgrid(rows, columns, indexing="ij")).flatten(1).to(blocks)


def cell_positions(corners: Tensor, height: int, width: int) -> Tensor:
    """[N, 2, h, w]: cell positions from the position of each input's first cell, [N, 2]."""
    rows, columns = torch.arange(height), torch.arange(width)
    grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij")).to(corners)
    return corners[:, :, None, None] + grid


def average_blocks(blocks: Tensor) -> Tensor:
    """Mean of 2 x 2 adjacent blocks at stride 2: blocks at the outline network's resolution."""
    rows, columns = blocks.shape[2] - 2, blocks.shape[3] - 2
    found = [blocks[:, :, y : y + rows : 2, x : x + columns : 2] for y in (0, 2) for x in (0, 2)]
    return torch.stack(found).mean(dim=0)
