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
from physplan.video.frames import FrameLayout
from physplan.video.noise import keep_frozen
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import OnStep, reverse_step


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


# Large models: the shares of Time-to-Move's paper (LTX is not there: Wan's, a flow model too). The sandbox's
# were chosen on validation scenes; its model is small, and a late strong clock leaves it little to spoil.
CLOCKS: Mapping[str, Clocks] = {
    "cogvideox": Clocks(weak=0.08, strong=0.18),
    "wan": Clocks(weak=0.06, strong=0.14),
    "ltx": Clocks(weak=0.06, strong=0.14),
    "svd": Clocks(weak=0.32, strong=0.42),
    "sandbox": Clocks(weak=0.4, strong=0.9),
}


def clocks_of(family: str) -> Clocks:
    try:
        return CLOCKS[family]
    except KeyError:
        raise PhysPlanError(
            f"There are no clocks for the video family {family!r}: give weak and strong."
        ) from None


def latent_masks(masks: Tensor, layout: FrameLayout, size: tuple[int, int]) -> Tensor:
    """Masks [F, 1, H, W] as bool [1, 1, n, h, w]: cells that any masked pixel of their frames touches."""
    cells = F.adaptive_max_pool2d(masks.float(), size)[:, 0] > 0
    found = torch.zeros(layout.num_latents, *size, dtype=torch.bool)
    for frame, cell in enumerate(cells):
        found[layout.latent_index(frame)] |= cell
    return found[None, None]


@torch.no_grad()
def sketched_sample(
    model: VideoModel,
    conditioning: Conditioning,
    clean: Tensor,
    masks: Tensor,
    *,
    weak: int,
    strong: int,
    on_step: OnStep | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Clean latents [1, C, n, h, w] from the sketch's, `clean`, and its masks bool [1, 1, n, h, w].

    With weak 0 and empty masks this is the unguided loop, to the bit: the sketch's noise is the run's own.
    """
    z, noise = conditioning.latents, conditioning.noise
    clean, masks = clean.to(z), masks.to(z.device)
    drawn = z / noise.sigma(0)

    def noised(n: int) -> Tensor:
        return keep_frozen(noise.frozen, conditioning.latents, noise.add_noise(clean, n, drawn))

    if weak > 0:
        z = noised(weak)
    for n in range(weak, noise.num_steps):
        if n < strong:
            z = torch.where(masks, noised(n), z)
        prediction = model.predict(z, n, conditioning)
        estimate = noise.clean_estimate(z, prediction, n)
        z = reverse_step(noise, z, prediction, n, generator)
        if on_step is not None and on_step(n, z, estimate) is False:
            return estimate
    return z


def sample_from_sketch(
    model: VideoModel,
    conditioning: Conditioning,
    sketch: Sketch,
    *,
    clocks: Clocks | None = None,
    on_step: OnStep | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """The method `sketch`: encode the sketch, hold it where the plan acts and where nothing may change."""
    layout = conditioning.layout
    frames = _resized(sketch.frames, conditioning.height, conditioning.width)
    if len(frames) != layout.num_frames:
        raise PhysPlanError(
            f"The sketch has {len(frames)} frames but the video {layout.num_frames}: plan for as many."
        )
    clean = model.encode_frames(frames, layout)
    size = (conditioning.latents.shape[-2], conditioning.latents.shape[-1])
    held = latent_masks(sketch.masks | sketch.kept[None], layout, size)
    weak, strong = (clocks or clocks_of(model.name)).steps(conditioning.noise.num_steps)
    return sketched_sample(
        model, conditioning, clean, held, weak=weak, strong=strong, on_step=on_step, generator=generator
    )


def _resized(frames: Tensor, height: int, width: int) -> Tensor:
    if tuple(frames.shape[-2:]) == (height, width):
        return frames
    return F.interpolate(frames, (height, width), mode="bilinear", antialias=True, align_corners=False)
