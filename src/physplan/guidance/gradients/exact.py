"""Eq. 10 to the letter: every term passes back through the denoiser alone."""

from __future__ import annotations

import torch
from torch import Tensor

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.gradients.mode import Mode, countdown
from physplan.guidance.paper.update import normalised
from physplan.guidance.previews import Active, Preview
from physplan.video.frames import Window


class Exact(Mode):
    """g = sum_k (Omega_k + lambda (1 - Omega_k)) * grad_k / ||grad_k||, with grad_k at z_t."""

    through_denoiser = True

    def __init__(self, config: GuidanceConfig, clean: Tensor, *, outside: float, frozen: int) -> None:
        super().__init__(config, clean, outside=outside, frozen=frozen)
        self.slices: list[tuple[Active, Window, Tensor]] = []

    def add(self, preview: Preview) -> None:
        for left, term in countdown(preview.active):
            self.slices.append((term, preview.window, self.back(preview, term.gradient, again=left > 0)))

    def gradient(self, z: Tensor, clean: Tensor) -> Tensor:
        g = torch.zeros_like(clean)
        for left, (term, window, piece) in countdown(self.slices):
            cotangent = torch.zeros_like(clean)
            cotangent[:, :, window.latents] = piece
            (noisy,) = torch.autograd.grad(clean, z, cotangent, retain_graph=left > 0)
            self.log.norms.append((term, noisy.norm()))
            g += term.spec.weight * self.weights(term, noisy) * normalised(noisy)
        return g
