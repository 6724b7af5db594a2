"""Frame Guidance's gradient: of the sum of all losses, normalised once over the whole latent."""

from __future__ import annotations

import torch
from torch import Tensor

from physplan.guidance.gradients.mode import Mode
from physplan.guidance.paper.update import normalised
from physplan.guidance.previews import Preview, add, scale


class Whole(Mode):
    """g = G / ||G|| with G the gradient at z_t of the sum of all losses; there are no regions."""

    through_denoiser = True

    def add(self, preview: Preview) -> None:
        norms = [(term, term.norm) for term in preview.active]
        self.log.norms += norms
        sound = [term for term, norm in norms if norm.isfinite() and norm > 0]
        if sound:
            total = add(scale(term.gradient, term.spec.weight) for term in sound)
            self.at_clean[:, :, preview.window.latents] += self.log.shared(self.back(preview, total))

    def gradient(self, z: Tensor, clean: Tensor) -> Tensor:
        if not self.log.norms:
            return self.at_clean
        (noisy,) = torch.autograd.grad(clean, z, self.at_clean)
        return normalised(self.log.shared(noisy))
