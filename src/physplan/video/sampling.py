"""The unguided loop: eq. 3 and the reverse step, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.checkpoint import Checkpoint, SamplingState, resume
from physplan.video.protocol import Conditioning, NoiseFamily, VideoModel

OnStep = Callable[[int, Tensor, Tensor], bool | None]


class Start(Protocol):
    """Where a sampling begins if not at noise, and what is put into its latents on the way."""

    @property
    def first(self) -> int:
        """The first step that is done."""
        ...

    @property
    def free(self) -> int:
        """The first step from which nothing is put in any more."""
        ...

    def enter(self, z: Tensor, n: int) -> Tensor:
        """The latents with which step n begins."""
        ...


@torch.no_grad()
def sample(
    model: VideoModel,
    conditioning: Conditioning,
    on_step: OnStep | None = None,
    *,
    generator: torch.Generator | None = None,
    checkpoint: Checkpoint | None = None,
    start: Start | None = None,
) -> Tensor:
    """Denoise from the initial noise, or from `start`, to clean latents [1, C, F, H, W].

    `generator` is the one that `prepare` drew the initial noise with; runs with an eta need it.

    `on_step(n, latents, clean_estimate)` is called after each step; when it returns False, the loop stops and
    the clean estimate so far is the result: an early look at a run that is not worth finishing.
    With a `checkpoint`, an interrupted loop resumes at its step.
    """
    z, noise = conditioning.latents, conditioning.noise
    begun = resume(checkpoint, generator, z)
    if begun is not None:
        z = begun.latents
    first = start.first if start else 0
    for n in range(begun.step if begun else first, noise.num_steps):
        if start is not None:
            z = start.enter(z, n)
        prediction = model.predict(z, n, conditioning)
        clean = noise.clean_estimate(z, prediction, n)
        z = reverse_step(conditioning, z, prediction, n, generator)
        if checkpoint is not None and generator is not None:
            checkpoint.save(SamplingState(step=n + 1, latents=z, generator=generator.get_state()))
        if on_step is not None and on_step(n, z, clean) is False:
            return clean
    return z


def reverse_step(
    conditioning: Conditioning, z: Tensor, prediction: Tensor, n: int, generator: torch.Generator | None
) -> Tensor:
    """From level n to the next, then `step_end`, where the run has one."""
    moved = _stepped(conditioning.noise, z, prediction, n, generator)
    return moved if conditioning.step_end is None else conditioning.step_end(n, moved)


def _stepped(
    noise: NoiseFamily, z: Tensor, prediction: Tensor, n: int, generator: torch.Generator | None
) -> Tensor:
    """With an eta, part of the noise that is left is drawn afresh."""
    if not noise.eta:
        return noise.step(z, prediction, n)
    if generator is None:
        raise PhysPlanError("A run with an eta above 0 draws noise in every step: pass the run's generator.")
    return noise.step(z, prediction, n, draw_noise(z, generator))


def draw_noise(like: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal noise shaped like `like`, drawn on the CPU: a seed means the same on every device."""
    return torch.randn(like.shape, generator=generator, dtype=torch.float32).to(like.device)
