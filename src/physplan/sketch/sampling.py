"""The two clocks (after the idea of Time-to-Move, arXiv 2511.08633): a frozen video model takes the sketch.

Everything starts at step `weak` from the noised sketch; inside the masks the latents are overwritten with the
noised sketch until step `strong`. No gradient, no further evaluation of the denoiser: as many steps as are
left after `weak`, so it costs no more than an unguided video.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.sketch.compose import Sketch
from physplan.video.checkpoint import Checkpoint
from physplan.video.frames import FrameLayout
from physplan.video.noise import keep_frozen
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import OnStep, sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Shares of the steps: where everything starts from the sketch, and until where the masks hold it."""

    weak: float
    strong: float

    def __post_init__(self) -> None:
        if not 0 <= self.weak <= self.strong <= 1:
            given = f"weak {self.weak:g} and strong {self.strong:g}"
            raise PhysPlanError(f"The clocks need 0 <= weak <= strong <= 1, not {given}.")

    def steps(self, num_steps: int) -> tuple[int, int]:
        return min(round(self.weak * num_steps), num_steps - 1), round(self.strong * num_steps)


# Large models: the shares of Time-to-Move's paper (LTX and HunyuanVideo, not there, have Wan's: flow models
# too). The sandbox's were chosen on validation scenes; its model is small, and a late strong clock leaves it
# little to spoil.
CLOCKS: Mapping[str, Clocks] = {
    "cogvideox": Clocks(weak=0.08, strong=0.18),
    "wan": Clocks(weak=0.06, strong=0.14),
    "wan-vace": Clocks(weak=0.06, strong=0.14),
    "ltx": Clocks(weak=0.06, strong=0.14),
    "ltx-2": Clocks(weak=0.06, strong=0.14),
    "hunyuan-1.5": Clocks(weak=0.06, strong=0.14),
    "svd": Clocks(weak=0.32, strong=0.42),
    "sandbox": Clocks(weak=0.6, strong=0.9),
}


def clocks_of(family: str, *, weak: float | None = None, strong: float | None = None) -> Clocks:
    """The family's own, but for what is given."""
    if weak is not None and strong is not None:
        return Clocks(weak=weak, strong=strong)
    if family not in CLOCKS:
        raise PhysPlanError(f"There are no clocks for the video family {family!r}: give weak and strong.")
    own = CLOCKS[family]
    return Clocks(weak=own.weak if weak is None else weak, strong=own.strong if strong is None else strong)


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
    first, free = (clocks or clocks_of(model.name)).steps(conditioning.noise.num_steps)
    with torch.no_grad():
        clean = model.encode_frames(frames, layout)
    masks = latent_masks(sketch.masks | sketch.kept[None], layout, size)
    return SketchStart(conditioning=conditioning, clean=clean, masks=masks, first=first, free=free)


def sample_from_sketch(
    model: VideoModel,
    conditioning: Conditioning,
    sketch: Sketch,
    *,
    clocks: Clocks | None = None,
    on_step: OnStep | None = None,
    generator: torch.Generator | None = None,
    checkpoint: Checkpoint | None = None,
) -> Tensor:
    """The method `sketch`."""
    start = sketch_start(model, conditioning, sketch, clocks)
    return sample(model, conditioning, on_step, generator=generator, checkpoint=checkpoint, start=start)


def _resized(frames: Tensor, height: int, width: int) -> Tensor:
    if tuple(frames.shape[-2:]) == (height, width):
        return frames
    return F.interpolate(frames, (height, width), mode="bilinear", antialias=True, align_corners=False)
