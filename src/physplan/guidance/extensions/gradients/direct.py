"""Without the denoiser's Jacobian: the gradient at z0 moves z_t.

It costs no activations of the denoiser. It does not depend on abar, so the first step of a schedule with zero
terminal SNR needs no exception.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from physplan.guidance.gradients.mode import Mode, countdown
from physplan.guidance.paper.update import normalised
from physplan.guidance.previews import Active, Preview, add, scale


class Direct(Mode):
    """g = sum_k (Omega_k + lambda (1 - Omega_k)) * grad_k / ||grad_k||, with grad_k at z0."""

    through_denoiser = False

    def add(self, preview: Preview) -> None:
        if self.config.combine_at == "features":
            self._add_joined(preview)
        else:
            self._add_apart(preview)

    def gradient(self, z: Tensor, clean: Tensor) -> Tensor:
        return self.at_clean

    def _add_apart(self, preview: Preview) -> None:
        """Every term back to z0 on its own, and of one length."""
        for left, term in countdown(preview.active):
            gradient = self.back(preview, term.gradient, again=left > 0)
            self.log.norms.append((term, gradient.norm()))
            self._sum(preview, term.spec.weight * normalised(gradient), [term])

    def _add_joined(self, preview: Preview) -> None:
        """Terms of one length where they are cheap, at what they read; then a pass for those that read it.

        A pass's sum is made as long as it would be if its terms were orthogonal.
        """
        norms = [(term, term.norm) for term in preview.active]
        self.log.norms += norms
        sound = [(term, norm) for term, norm in norms if norm.isfinite() and norm > 0]
        groups = [
            [one for one in sound if ("frame" in one[0].gradient) is pixels] for pixels in (True, False)
        ]
        for left, group in countdown([group for group in groups if group]):
            total = add(scale(term.gradient, term.spec.weight / norm) for term, norm in group)
            joined = self.log.shared(self.back(preview, total, again=left > 0))
            length = math.sqrt(sum(term.spec.weight**2 for term, _ in group))
            self._sum(preview, length * normalised(joined), [term for term, _ in group])

    def _sum(self, preview: Preview, gradient: Tensor, terms: Sequence[Active]) -> None:
        self.at_clean[:, :, preview.window.latents] += self.union_weights(terms, gradient) * gradient
