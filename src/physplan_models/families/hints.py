"""Keyframes of a strength below 1 in the LTX family: latents in front of the video's that move as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from physplan.video.keyframe_conditioning import GivenFrame
from physplan.video.noise import Flow


@dataclass(frozen=True, kw_only=True, eq=False)
class Hinted(Flow):
    """A flow whose first latents are keyframes, each of a strength; those of strength 1 stand still.

    Up to LTX 0.9.8 a keyframe is noised by 1 - strength and stands still until the video has as little noise.
    From LTX-2 on (`clean`: their latents [1, C, k, h, w]) its noise is 1 - strength of the video's, and every
    estimate of it is drawn towards the picture by its strength.
    """

    strengths: tuple[float, ...]
    clean: Tensor | None = None

    def step(self, z: Tensor, prediction: Tensor, n: int, noise: None = None) -> Tensor:
        moved, change = super().step(z, prediction, n), self.sigmas[n + 1] - self.sigmas[n]
        for k, strength in enumerate(self.strengths):
            now, slope = z[:, :, k], prediction[:, :, k]
            if strength == 1:
                continue
            if self.clean is not None:
                guess = (1 - strength) * (now - self.sigmas[n] * slope) + strength * self.clean[:, :, k]
                moved[:, :, k] = now + change * (now - guess) / self.sigmas[n]
            elif self.sigmas[n] - 1e-6 < 1 - strength:
                moved[:, :, k] = now + change * slope
        return moved


def tokens_seen(kept: Tensor, keyframes: Sequence[GivenFrame], share: float) -> Tensor | None:
    """Which of the tokens `kept`, bool [latents, h, w], are seen at this share of the steps; None: all.

    The first latents are the keyframes'.
    """
    rows = kept.flatten(1).clone()
    for row, given in zip(rows[: len(keyframes)], keyframes, strict=True):
        row &= share < given.until
    return None if rows.all() else rows.flatten().nonzero()[:, 0]


def noised(clean: Tensor, noise: Tensor, strength: float) -> Tensor:
    """A keyframe's latent before the first step."""
    return torch.lerp(noise, clean, strength)
