"""The two clocks (after the idea of Time-to-Move, arXiv 2511.08633): a frozen video model takes the sketch.

Everything starts at step `weak` from the noised sketch; inside the masks the latents are overwritten with the
noised sketch until step `strong`. No gradient, no further evaluation of the denoiser: as many steps as are
left after `weak`, so it costs no more than an unguided video.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.sketch.compose import Sketch
from physplan.video.clocks import Clocks
from physplan.video.frames import FrameLayout
from physplan.video.noise import keep_frozen
from physplan.video.protocol import Conditioning, VideoModel


def clocks_of(model: Any, *, weak: float | None = None, strong: float | None = None) -> Clocks:
    """The video model's own `clocks`, but for what is given."""
    own: Clocks | None = getattr(model, "clocks", None)
    if weak is None or strong is None:
        if own is None:
            raise PhysPlanError(f"The video model {model.name} says no clocks: give weak and strong.")
        weak = own.weak if weak is None else weak
        strong = own.strong if strong is None else strong
    return Clocks(weak=weak, strong=strong)


def latent_masks(masks: Tensor, layout: FrameLayout, size: tuple[int, int]) -> Tensor:
    """Masks [F, 1, H, W] as bool [1, 1, n, h, w]: cells that any masked pixel of their frames touches."""
    cells = F.adaptive_max_pool2d(masks.float(), size)[:, 0] > 0
    found = torch.zeros(layout.num_latents, *size, dtype=torch.bool)
    for frame, cell in enumerate(cells):
        found[layout.latent_index(frame)] |= cell
    return found[None, None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SketchStart:
    """The sketch's clean latents [1, C, n, h, w], noised with the run's own noise, and its masks
    bool [1, 1, n, h, w]. With `first` 0 and empty masks this is the unguided loop, to the bit."""

    conditioning: Conditioning
    clean: Tensor
    masks: Tensor
    first: int  # the weak clock
    free: int  # the strong clock

    def enter(self, z: Tensor, n: int) -> Tensor:
        if 0 < n == self.first:
            z = self.noised(z, n)
        return torch.where(self.masks.to(z.device), self.noised(z, n), z) if n < self.free else z

    def noised(self, like: Tensor, n: int) -> Tensor:
        begun, noise = self.conditioning.latents, self.conditioning.noise
        noisy = noise.add_noise(self.clean.to(like), n, begun / noise.sigma(0))
        return keep_frozen(noise.frozen, begun, noisy)


def sketch_start(
    model: VideoModel, conditioning: Conditioning, sketch: Sketch, clocks: Clocks | None = None
) -> SketchStart:
    """Encode the sketch; hold it where the plan acts and where nothing may change."""
    layout = conditioning.layout
    frames = _resized(sketch.frames, conditioning.height, conditioning.width)
    if len(frames) != layout.num_frames:
        raise PhysPlanError(
            f"The sketch has {len(frames)} frames but the video {layout.num_frames}: plan for as many."
        )
    size = (conditioning.latents.shape[-2], conditioning.latents.shape[-1])
    first, free = (clocks or clocks_of(model)).steps(conditioning.noise.num_steps)
    with torch.no_grad():
        clean = model.encode_frames(frames, layout)
    masks = latent_masks(sketch.masks | sketch.kept[None], layout, size)
    return SketchStart(conditioning=conditioning, clean=clean, masks=masks, first=first, free=free)


def _resized(frames: Tensor, height: int, width: int) -> Tensor:
    if tuple(frames.shape[-2:]) == (height, width):
        return frames
    return F.interpolate(frames, (height, width), mode="bilinear", antialias=True, align_corners=False)
