"""Frames to latents and back: a frame is a latent, so what moves leaves no ghosts.

The encoder is a rotation of 6 x 6 pixel blocks, coarse patterns first; only their order is learnt.
A video model draws only the coarse channels: a few numbers to invent per cell, close to pixels, which small
convolutions understand. Behind them every latent carries the whole picture, the clip's first frame. Where
nothing happens, the decoder finds its fine patterns there; where something does, it draws them.
Latents do not see each other: a frame is decoded from its own latent alone, and exactly.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn

from physplan.sandbox.models.layers import Residual, zeroed

CELL = 6  # pixels per side of a block
PATTERNS = 3 * CELL * CELL
CRISP = 0.2  # how much of what a small blur would take from a frame is added to it once more
MOVED = 0.12  # of the range from -1 to 1: a pixel that departs this far is wholly made crisper


class FrameAutoencoder(ModelMixin, ConfigMixin):
    """[B, 3, F, H, W] in [-1, 1] <-> [B, C, F, H / 6, W / 6]: `drawn` coarse channels, then the picture's."""

    @register_to_config
    def __init__(
        self, drawn: int = 24, widths: tuple[int, int] = (128, 64), blocks: tuple[int, int] = (3, 3)
    ) -> None:
        super().__init__()
        wide, narrow = widths
        # Rows are patterns of a block, orthonormal, the coarsest first.
        self.register_buffer("patterns", torch.eye(PATTERNS))
        self.register_buffer("scale", torch.ones(drawn))  # of the drawn channels, as the video model has them
        # How far latents depart from the first one in clips: everywhere, and where something happens.
        self.register_buffer("departs", torch.full((drawn,), 0.1))
        self.register_buffer("departs_moving", torch.ones(drawn))
        # The same of their outlines (`physplan.sandbox.models.outline`).
        self.register_buffer("outlines", torch.full((drawn,), 0.1))
        self.register_buffer("outlines_moving", torch.ones(drawn))
        self.look = nn.Sequential(
            nn.Conv2d(2 * drawn + PATTERNS, wide, 3, padding=1),
            *(Residual(wide) for _ in range(blocks[0])),
            nn.Conv2d(wide, 4 * narrow, 1),
            nn.PixelShuffle(2),
        )
        self.draw = nn.Sequential(
            nn.Conv2d(narrow + 2 * 27, narrow, 3, padding=1),
            *(Residual(narrow) for _ in range(blocks[1])),
            zeroed(nn.Conv2d(narrow, 4 * 9, 1)),
            nn.PixelShuffle(3),
        )

    @property
    def channels(self) -> int:
        return int(self.config.drawn) + PATTERNS

    @torch.no_grad()
    def start_from_principal_components(self, blocks: Tensor, departures: Tensor) -> None:
        """Order the patterns by how much of example blocks [N, 108] they hold, and scale the drawn ones.

        The scale is the root of a departure's spread, relative to the coarsest one's: fine patterns are
        smaller than coarse ones, so they come out of the noise after them, but not as late as in pixels.
        """
        _, vectors = torch.linalg.eigh(blocks.T @ blocks / len(blocks))
        self.patterns.copy_(vectors.flip(1).T)
        spread = (departures @ self.patterns.T).square().mean(dim=0).sqrt()[: int(self.config.drawn)]
        self.scale.copy_((spread * spread.max()).sqrt())

    def encode(self, video: Tensor) -> Tensor:
        picture = self.analyse(video[:, :, :1])
        return torch.cat([self.coarse(video), picture.expand(-1, -1, video.shape[2], -1, -1)], dim=1)

    def coarse(self, video: Tensor) -> Tensor:
        """The channels that are drawn."""
        drawn = int(self.config.drawn)
        return self.analyse(video, drawn) / self.scale.view(-1, 1, 1, 1)

    def blocks(self, pictures: Tensor, stride: int) -> Tensor:
        """The drawn channels of every block [B, C, rows, columns] whose corner lies on a grid of `stride`
        pixels in pictures [B, 3, H, W]."""
        drawn = int(self.config.drawn)
        kernels = self.patterns[:drawn].view(drawn, 3, CELL, CELL)
        return F.conv2d(pictures, kernels, stride=stride) / self.scale.view(-1, 1, 1)

    def picture(self, latents: Tensor) -> Tensor:
        """The picture [B, 3, H, W] that latents [B, C, h, w] carry."""
        return self._synthesise(latents[:, int(self.config.drawn) :])

    def decode(self, latents: Tensor) -> Tensor:
        """Every latent's frame."""
        batch = latents.shape[0]
        singly = latents.transpose(1, 2).flatten(0, 1)
        frames = sharpened(self.paint(singly), self.picture(singly))
        return frames.unflatten(0, (batch, -1)).transpose(1, 2)

    def analyse(self, video: Tensor, patterns: int = PATTERNS) -> Tensor:
        """[B, 3, F, H, W] -> [B, patterns, F, h, w]; with all 108 nothing is lost."""
        batch = video.shape[0]
        cells = F.pixel_unshuffle(video.transpose(1, 2).flatten(0, 1), CELL)
        found = F.conv2d(cells, self.patterns[:patterns, :, None, None])
        return found.unflatten(0, (batch, -1)).transpose(1, 2)

    def paint(self, latents: Tensor) -> Tensor:
        """[N, C, h, w] -> [N, 3, H, W]: the coarse patterns, as much of the picture's fine ones as fits, and
        what is new."""
        drawn = latents[:, : int(self.config.drawn)] * self.scale.view(-1, 1, 1)
        picture = latents[:, int(self.config.drawn) :]
        coarse = self._synthesise(drawn)
        fine = self._synthesise(picture[:, int(self.config.drawn) :], skip=int(self.config.drawn))
        moved = drawn - picture[:, : int(self.config.drawn)]
        features = self.look(torch.cat([drawn, moved, picture], dim=1))
        near = torch.cat([F.pixel_unshuffle(coarse, 3), F.pixel_unshuffle(fine, 3)], dim=1)
        found = self.draw(torch.cat([features, near], dim=1))
        return coarse + (found[:, :1] + 1.0) * fine + found[:, 1:]

    def _synthesise(self, values: Tensor, skip: int = 0) -> Tensor:
        patterns = self.patterns[skip : skip + values.shape[1]]
        return F.pixel_shuffle(F.conv2d(values, patterns.T[:, :, None, None]), CELL)


def sharpened(frames: Tensor, pictures: Tensor, strength: float = CRISP) -> Tensor:
    """Frames [N, 3, H, W], a little crisper where they depart from their pictures: what a denoiser is unsure
    of it leaves soft. Departures themselves are not sharpened: their edges are also those of things that have
    left, which would come back as rings."""
    departed = ((frames - pictures).abs().amax(dim=1, keepdim=True) / MOVED).clamp(max=1.0)
    blurred = F.avg_pool2d(F.pad(frames, (1, 1, 1, 1), mode="replicate"), 3, stride=1)
    return frames + strength * departed * (frames - blurred)
