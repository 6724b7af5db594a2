"""The unguided loop: eq. 3 and the reverse step, nothing else."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from physplan.video.protocol import Conditioning, VideoModel

OnStep = Callable[[int, Tensor, Tensor], bool | None]


@torch.no_grad()
def sample(model: VideoModel, conditioning: Conditioning, on_step: OnStep | None = None) -> Tensor:
    """Denoise from the initial noise to clean latents [1, C, F, H, W].

    `on_step(n, latents, clean_estimate)` is called after each step; when it returns False, the loop stops and
    the clean estimate so far is the result: an early look at a run that is not worth finishing.
    """
    z, noise = conditioning.latents, conditioning.noise
    for n in range(noise.num_steps):
        prediction = model.predict(z, n, conditioning)
        clean = noise.clean_estimate(z, prediction, n)
        z = noise.step(z, prediction, n)
        if on_step is not None and on_step(n, z, clean) is False:
            return clean
    return z


def draw_noise(like: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal noise shaped like `like`, drawn on the CPU: a seed means the same on every device."""
    return torch.randn(like.shape, generator=generator, dtype=torch.float32).to(like.device)
