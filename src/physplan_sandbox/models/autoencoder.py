"""Per-frame autoencoder: an orthonormal patch transform as encoder, a small convolutional decoder.

- Encoder: PCA of 6 x 6 pixel patches (108 coefficients, coarsest first); the basis is the only learnt part.
- Latent: `drawn` coarse coefficients of the frame, then all 108 of the clip's first frame. The video model
  denoises the coarse channels only.
- Decoder: reuses the first frame's fine coefficients where nothing moved and predicts them elsewhere.
- One latent per frame and no temporal mixing, so a single frame decodes exactly from its own latent.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn

from physplan_sandbox.models.layers import ResBlock, zero_init

CELL_SIZE = 6  # pixels per side of a block
PATCH_VALUES = 3 * CELL_SIZE * CELL_SIZE
UNSHARP_AMOUNT = 0.2  # of the 3 x 3 high-pass, added to moving pixels
MOTION_THRESHOLD = 0.12  # in [-1, 1]: difference to the first frame at which the unsharp mask is fully on


class FrameAutoencoder(ModelMixin, ConfigMixin):
    """[B, 3, F, H, W] in [-1, 1] <-> [B, drawn + 108, F, H / 6, W / 6]; the last 108 hold the first frame."""

    @register_to_config
    def __init__(
        self, drawn: int = 24, widths: tuple[int, int] = (128, 64), blocks: tuple[int, int] = (3, 3)
    ) -> None:
        super().__init__()
        wide, narrow = widths
        # Orthonormal patch basis, one row per pattern, the coarsest first.
        self.register_buffer("patterns", torch.eye(PATCH_VALUES))
        self.register_buffer("scale", torch.ones(drawn))  # std by which the drawn channels are divided
        # Variance of the residual to the first frame: over all cells, and over moving ones.
        self.register_buffer("departs", torch.full((drawn,), 0.1))
        self.register_buffer("departs_moving", torch.ones(drawn))
        # The same at the outline network's resolution (`physplan_sandbox.models.outline`).
        self.register_buffer("outlines", torch.full((drawn,), 0.1))
        self.register_buffer("outlines_moving", torch.ones(drawn))
        self.look = nn.Sequential(
            nn.Conv2d(2 * drawn + PATCH_VALUES, wide, 3, padding=1),
            *(ResBlock(wide) for _ in range(blocks[0])),
            nn.Conv2d(wide, 4 * narrow, 1),
            nn.PixelShuffle(2),
        )
        self.draw = nn.Sequential(
            nn.Conv2d(narrow + 2 * 27, narrow, 3, padding=1),
            *(ResBlock(narrow) for _ in range(blocks[1])),
            zero_init(nn.Conv2d(narrow, 4 * 9, 1)),
            nn.PixelShuffle(3),
        )

    @property
    def channels(self) -> int:
        return int(self.config.drawn) + PATCH_VALUES

    @torch.no_grad()
    def start_from_principal_components(self, blocks: Tensor, residuals: Tensor) -> None:
        """Set the basis to the principal components of blocks [N, 108], and the scale of the drawn ones.

        The scale is the geometric mean of a residual's std and the largest one: fine patterns keep a smaller
        amplitude than coarse ones, so denoising resolves them later, though not as late as in pixel space.
        """
        _, vectors = torch.linalg.eigh(blocks.T @ blocks / len(blocks))
        self.patterns.copy_(vectors.flip(1).T)
        spread = (residuals @ self.patterns.T).square().mean(dim=0).sqrt()[: int(self.config.drawn)]
        self.scale.copy_((spread * spread.max()).sqrt())

    def encode(self, video: Tensor) -> Tensor:
        picture = self.analyse(video[:, :, :1])
        return torch.cat([self.coarse(video), picture.expand(-1, -1, video.shape[2], -1, -1)], dim=1)

    def coarse(self, video: Tensor) -> Tensor:
        """The drawn channels [B, drawn, F, h, w] of a video."""
        drawn = int(self.config.drawn)
        return self.analyse(video, drawn) / self.scale.view(-1, 1, 1, 1)

    def blocks(self, pictures: Tensor, stride: int) -> Tensor:
        """The drawn channels of every block [B, C, rows, columns] whose corner lies on a grid of `stride`
        pixels in pictures [B, 3, H, W]."""
        drawn = int(self.config.drawn)
        kernels = self.patterns[:drawn].view(drawn, 3, CELL_SIZE, CELL_SIZE)
        return F.conv2d(pictures, kernels, stride=stride) / self.scale.view(-1, 1, 1)

    def picture(self, latents: Tensor) -> Tensor:
        """The first frame [B, 3, H, W] stored in latents [B, C, h, w]."""
        return self._synthesise(latents[:, int(self.config.drawn) :])

    def decode(self, latents: Tensor) -> Tensor:
        """[B, C, F, h, w] -> [B, 3, F, H, W], frame by frame."""
        batch = latents.shape[0]
        singly = latents.transpose(1, 2).flatten(0, 1)
        frames = unsharp_mask(self.paint(singly), self.picture(singly))
        return frames.unflatten(0, (batch, -1)).transpose(1, 2)

    def analyse(self, video: Tensor, patterns: int = PATCH_VALUES) -> Tensor:
        """[B, 3, F, H, W] -> [B, patterns, F, h, w]; with all 108 nothing is lost."""
        batch = video.shape[0]
        cells = F.pixel_unshuffle(video.transpose(1, 2).flatten(0, 1), CELL_SIZE)
        found = F.conv2d(cells, self.patterns[:patterns, :, None, None])
        return found.unflatten(0, (batch, -1)).transpose(1, 2)

    def paint(self, latents: Tensor) -> Tensor:
        """[N, C, h, w] -> [N, 3, H, W]: coarse patterns + gated fine patterns of the first frame + a
        predicted correction."""
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
        return F.pixel_shuffle(F.conv2d(values, patterns.T[:, :, None, None]), CELL_SIZE)


def unsharp_mask(frames: Tensor, pictures: Tensor, strength: float = UNSHARP_AMOUNT) -> Tensor:
    """Unsharp mask on frames [N, 3, H, W] where they differ from their first frames `pictures`.

    The frame is sharpened, not its residual: a residual also has edges where an object has left, and
    sharpening those draws rings.
    """
    motion = ((frames - pictures).abs().amax(dim=1, keepdim=True) / MOTION_THRESHOLD).clamp(max=1.0)
    blurred = F.avg_pool2d(F.pad(frames, (1, 1, 1, 1), mode="replicate"), 3, stride=1)
    return frames + strength * motion * (frames - blurred)
