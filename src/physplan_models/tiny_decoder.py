"""Small video decoders in TAEHV's published layout, from a safetensors file: live previews, cheap gradients.

Published for CogVideoX, Wan 2.1 and 2.2, HunyuanVideo 1.5, LTX-2 and 2.3 (github.com/madebyollin/taehv, MIT).
They take latents as the denoiser has them and give frames in about [0, 1]. Nothing is clamped here, so that
gradients pass everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import isqrt, log2
from pathlib import Path
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from physplan.errors import PhysPlanError
from physplan.pictures import to_picture
from physplan.video.frames import FrameLayout, Window
from physplan.video.sampling import OnStep
from physplan_models.single_files import check_file

WIDTHS = (256, 128, 64, 64)  # of the published files, but for `wide` ones
STAGES = ((7, 8), (13, 14), (19, 20))  # where each stage grows in time, and its last convolution
LAST_LAYER = 22
REFRESH_SECONDS = 1.5  # seconds between two live previews, or eight times what one takes


class Memory(nn.Module):
    """A residual block [T, C, h, w] that also sees the latent or frame before its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        inner = [_conv(2 * width, width), nn.ReLU(), _conv(width, width), nn.ReLU(), _conv(width, width)]
        self.conv = nn.Sequential(*inner)

    def forward(self, x: Tensor) -> Tensor:
        before = F.pad(x[:-1], (0, 0, 0, 0, 0, 0, 1, 0))
        return F.relu(self.conv(torch.cat([x, before], dim=1)) + x)


class Grow(nn.Module):
    """[T, C, h, w] to [T * stride, C, h, w]."""

    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width * stride, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        grown: Tensor = self.conv(x)
        return grown.reshape(-1, x.shape[1], *x.shape[2:])


class Squash(nn.Module):
    """Latents held to [-3, 3]."""

    def forward(self, x: Tensor) -> Tensor:
        return 3 * torch.tanh(x / 3)


class TinyDecoder(nn.Module):
    """Latents [1, C, L, h, w] of one clip to frames [1 + r (L - 1), 3, H, W]; causal in time."""

    def __init__(
        self, *, channels: int, spatial: int, times: Sequence[int], widths: Sequence[int] = WIDTHS, patch: int
    ) -> None:
        super().__init__()
        self.patch, self.ratio = patch, times[0] * times[1] * times[2]
        enlarging = round(log2(spatial / patch))  # of the three stages
        first: list[nn.Module] = [Squash(), _conv(channels, widths[0]), nn.ReLU()]
        for stage, stride in enumerate(times):
            width, scale = widths[stage], 2 if stage < enlarging else 1
            first += [Memory(width), Memory(width), Memory(width), nn.Upsample(scale_factor=scale)]
            first += [Grow(width, stride), _conv(width, widths[stage + 1], bias=False)]
        self.decoder = nn.Sequential(*first, nn.ReLU(), _conv(widths[3], 3 * patch**2))

    @classmethod
    def published(cls, *, channels: int, spatial: int, temporal: int) -> Self:
        """The usual shape for an autoencoder: three doublings in space, the last ones also in time."""
        doublings = round(log2(temporal))
        times = [1] * (3 - doublings) + [2] * doublings
        return cls(channels=channels, spatial=spatial, times=times, patch=max(1, spatial // 8))

    @classmethod
    def from_weights(cls, weights: Mapping[str, Tensor], *, spatial: int) -> Self:
        """Widths, strides and patch are read off the weights; raises KeyError on another layout."""
        shapes = {name: tuple(one.shape) for name, one in weights.items() if name.startswith("decoder.")}
        wide, channels = shapes["decoder.1.weight"][:2]
        widths = [wide, *(shapes[f"decoder.{last}.weight"][0] for _, last in STAGES)]
        grown = [shapes[f"decoder.{grow}.conv.weight"] for grow, _ in STAGES]
        times = [outputs // inputs for outputs, inputs, *_ in grown]
        patch = isqrt(shapes[f"decoder.{LAST_LAYER}.weight"][0] // 3)
        found = cls(channels=channels, spatial=spatial, times=times, widths=widths, patch=patch)
        found.load_state_dict({name: weights[name] for name in shapes})
        return found

    @property
    def entry(self) -> nn.Conv2d:
        layer = self.decoder[1]
        assert isinstance(layer, nn.Conv2d)
        return layer

    @property
    def channels(self) -> int:
        return self.entry.in_channels

    def forward(self, latents: Tensor) -> Tensor:
        found: Tensor = self.decoder(latents[0].transpose(0, 1).to(self.entry.weight.dtype))
        return F.pixel_shuffle(found.float(), self.patch)[self.ratio - 1 :]


class TinyPreviews:
    """A small decoder in place of a model's own, where a frame is only looked at."""

    def __init__(self, network: TinyDecoder) -> None:
        self.network = network

    def decode_window(self, latents: Tensor, window: Window) -> Tensor:
        """The window's frame [3, H, W]; latents behind its own are not looked at."""
        needed = 1 - (-window.index // self.network.ratio)
        frames: Tensor = self.network(latents[:, :, :needed])
        return frames[window.index - 1 - self.network.ratio * (needed - 1)]

    def shown(self, on_step: Callable[..., Any], layout: FrameLayout, path: Path) -> OnStep:
        """`on_step`, and a picture of the video so far on disk, refreshed now and then."""
        due = 0.0

        @torch.no_grad()
        def also(n: int, latents: Tensor, clean: Tensor) -> bool | None:
            nonlocal due
            if (begun := time.monotonic()) >= due:
                write_strip(self.network(clean[:, :, layout.video]), path)
                due = time.monotonic() + max(REFRESH_SECONDS, 8 * (time.monotonic() - begun))
            told: bool | None = on_step(n, latents, clean)
            return told

        return also


def write_strip(frames: Tensor, path: Path, *, count: int = 5) -> None:
    """Some frames [F, 3, H, W] side by side."""
    from physplan.video.sheets import contact_sheet

    places = torch.linspace(0, len(frames) - 1, count).round().long().tolist()
    contact_sheet([("so far", [to_picture(frames[k].clamp(0, 1)) for k in places])], path, columns=count)


def load_tiny(file: Path, model: Any) -> TinyPreviews:
    """For a video model whose autoencoder it stands in for; what does not fit it is refused."""
    from safetensors.torch import load_file

    check_file(file)
    codec = model.codec
    try:
        found = TinyDecoder.from_weights(load_file(file), spatial=codec.spatial_ratio)
    except (KeyError, ValueError, IndexError, RuntimeError) as error:
        raise PhysPlanError(
            f"{file} is no small decoder in TAEHV's layout: give one of its safetensors files (those called"
            " super have another layout)."
        ) from error
    wanted, has = (codec.channels, codec.temporal_ratio), (found.channels, found.ratio)
    enlarged = codec.spatial_ratio / found.patch
    if wanted != has or enlarged not in (1, 2, 4, 8):
        raise PhysPlanError(
            f"{file} decodes {has[0]} channels and {has[1]} frames per latent in patches of {found.patch},"
            f" but {model.name} has {wanted[0]}, {wanted[1]} and {codec.spatial_ratio} pixels per latent:"
            " give the file of this model."
        )
    dtype = model.dtype if model.device.type == "cuda" else torch.float32
    return TinyPreviews(found.to(model.device, dtype).eval().requires_grad_(False))


def _conv(inputs: int, outputs: int, **more: Any) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1, **more)
