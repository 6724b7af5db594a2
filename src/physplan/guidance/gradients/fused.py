"""`direct`'s sum at z0, passed back through the denoiser once."""

from __future__ import annotations

import torch
from torch import Tensor

from physplan.guidance.gradients.direct import Direct
from physplan.guidance.update import with_norm_of


class Fused(Direct):
    """g = J^T s made as long as s, the sum at z0: so the step size means the same in every mode."""

    through_denoiser = True

    def weighs(self) -> bool:
        return self.config.weight_at != "noisy"

    def gradient(self, z: Tensor, clean: Tensor) -> Tensor:
        if not self.tally.norms:
            return self.at_clean
        (noisy,) = torch.autograd.grad(clean, z, self.at_clean)
        g = with_norm_of(self.tally.shared(noisy), self.at_clean)
        if self.config.weight_at == "clean":
            return g
        return self.union_weights([term for term, _ in self.tally.norms], g) * g
