"""Groups of four frames to latents and back, with 2-D convolutions at a quarter of the resolution or less.

The 3-D convolutional VAE of CogVideoX takes seconds on a CPU; this one decodes a latent in milliseconds.
Frame 0 is a group of its own (repeated four times), as in CogVideoX, so 4k + 1 frames give k + 1 latents.

Channels are in order, the coarsest first, and a video model draws only these: a few numbers to invent per
cell. The fine ones it borrows from the picture, or from a sketch. Where nothing happens that is the truth;
where something does, the decoder finds fine channels that fit the coarse ones. It also bears some noise.
What it paints is then redrawn from the picture's own pixels (`physplan.sandbox.models.copying`).
Groups do not see each other: a frame is painted from its own latent alone, and exactly.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn

from physplan.sandbox.models.copying import PictureCopier
from physplan.sandbox.models.layers import Residual, zeroed

GROUP = 4  # frames per latent


class FrameGroupAutoencoder(ModelMixin, ConfigMixin):
    """[B, 3, F, H, W] in [-1, 1] <-> [B, C, (F - 1) / 4 + 1, H / 8, W / 8].

    A linear map of 8 x 8 x 4 pixel blocks, which starts as their principal components, plus convolutions that
    start at zero: so training begins at the quality of PCA. The channels are in order, the coarsest first.
    """

    @register_to_config
    def __init__(
        self,
        latent_channels: int = 64,
        coarse_channels: int = 24,
        widths: tuple[int, int] = (64, 128),
        blocks: tuple[int, int] = (2, 4),
        refined: tuple[int, int] = (160, 5),
        copied: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        fine, coarse = widths
        pixels = 3 * GROUP
        self.encode_linear = nn.Conv2d(pixels, latent_channels, 8, stride=8)
        self.encode_residual = nn.Sequential(
            nn.PixelUnshuffle(4),
            nn.Conv2d(pixels * 16, fine, 1),
            *(Residual(fine) for _ in range(blocks[0])),
            nn.PixelUnshuffle(2),
            nn.Conv2d(fine * 4, coarse, 1),
            *(Residual(coarse) for _ in range(blocks[1])),
            zeroed(nn.Conv2d(coarse, latent_channels, 1)),
        )
        width, depth = refined
        self.refine = nn.Sequential(
            nn.Conv2d(latent_channels, width, 3, padding=1),
            *(Residual(width) for _ in range(depth)),
            zeroed(nn.Conv2d(width, latent_channels, 1)),
        )
        self.decode_linear = nn.ConvTranspose2d(latent_channels, pixels, 8, stride=8)
        self.decode_residual = nn.Sequential(
            nn.Conv2d(latent_channels, coarse, 3, padding=1),
            *(Residual(coarse) for _ in range(blocks[1])),
            nn.Conv2d(coarse, fine * 4, 1),
            nn.PixelShuffle(2),
            *(Residual(fine) for _ in range(blocks[0])),
            zeroed(nn.Conv2d(fine, pixels * 16, 1)),
            nn.PixelShuffle(4),
        )
        self.copier = None if copied is None else PictureCopier(*copied)
        # How far latents depart from the first one in clips: everywhere, and where something happens.
        self.register_buffer("departs", torch.full((coarse_channels,), 0.1))
        self.register_buffer("departs_moving", torch.ones(coarse_channels))

    def add_copier(self, copied: tuple[int, int] = (64, 40)) -> None:
        """A new one, to be trained on what the rest of the decoder paints."""
        self.copier = PictureCopier(*copied)
        self.register_to_config(copied=copied)

    def encoder(self, groups: Tensor) -> Tensor:
        """[B, 12, H, W] -> [B, C, H / 8, W / 8]."""
        return self.encode_linear(groups) + self.encode_residual(groups)

    def decoder(self, latents: Tensor) -> Tensor:
        latents = latents + self.refine(latents)
        return self.decode_linear(latents) + self.decode_residual(latents)

    def borrow(self, latents: Tensor, first: Tensor) -> Tensor:
        """Coarse channels of the latents, fine ones of the first latent; channels are dimension 1."""
        coarse = self.config.coarse_channels
        return torch.cat([latents[:, :coarse], first[:, coarse:].expand_as(latents[:, coarse:])], dim=1)

    @torch.no_grad()
    def start_from_principal_components(self, groups: Tensor) -> None:
        """Set the linear maps from the blocks of example groups, each component scaled to unit variance."""
        blocks = F.unfold(groups, 8, stride=8).transpose(1, 2).flatten(0, 1)  # [N, 12 * 64]
        mean = blocks.mean(dim=0)
        values, vectors = torch.linalg.eigh(torch.cov((blocks - mean).T))
        keep = self.config.latent_channels
        basis, scale = vectors[:, -keep:].T, values[-keep:].clamp(min=1e-8).sqrt()
        shape = self.encode_linear.weight.shape
        self.encode_linear.weight.copy_((basis / scale[:, None]).view(shape))
        _set_bias(self.encode_linear, -(basis @ mean) / scale)
        self.decode_linear.weight.copy_((basis * scale[:, None]).view(shape))
        # The mean block goes into the last convolution's bias, where the two shuffles share a 4 x 4 pattern.
        block = mean.view(3 * GROUP, 2, 4, 2, 4).mean(dim=(1, 3))
        _set_bias(self.decode_linear, torch.zeros(3 * GROUP))
        _set_bias(self.decode_residual[-2], block.flatten())

    def encode(self, video: Tensor) -> Tensor:
        groups, batch = _to_groups(video)
        return self.encoder(groups).unflatten(0, (batch, -1)).transpose(1, 2)

    def decode(self, latents: Tensor) -> Tensor:
        """All frames of these latents, of which the first is the picture's: frame 0 and no other."""
        painted = self.paint(latents)[:, :, GROUP - 1 :]
        if self.copier is None or painted.shape[2] == 1:
            return painted
        clips = [torch.cat([clip[:1], self.copier(clip[1:], clip[:1])]) for clip in painted.transpose(1, 2)]
        return torch.stack(clips).transpose(1, 2)

    def paint(self, latents: Tensor) -> Tensor:
        """Four frames of each latent, as the decoder alone has them."""
        batch = latents.shape[0]
        flat = latents.transpose(1, 2).flatten(0, 1)
        frames = self.decoder(flat).unflatten(1, (GROUP, 3))  # [B * L, 4, 3, H, W]
        return frames.unflatten(0, (batch, -1)).flatten(1, 2).transpose(1, 2)


def _set_bias(layer: nn.Module, values: Tensor) -> None:
    bias = layer.bias
    assert isinstance(bias, Tensor)
    bias.copy_(values)


def _to_groups(video: Tensor) -> tuple[Tensor, int]:
    """[B, 3, 4k + 1, H, W] -> [B * (k + 1), 12, H, W]."""
    batch = video.shape[0]
    if video.shape[2] % GROUP != 1:
        raise ValueError(f"the sandbox autoencoder takes 4k + 1 frames, not {video.shape[2]}")
    padded = torch.cat([video[:, :, :1]] * (GROUP - 1) + [video], dim=2)
    groups = padded.transpose(1, 2).unflatten(1, (-1, GROUP))  # [B, L, 4, 3, H, W]
    return groups.flatten(2, 3).flatten(0, 1), batch
