"""`direct`'s sum at z0, passed back through the denoiser once."""

from __future__ import annotations

import torch
from torch import Tensor

from physplan.guidance.extensions.gradients.direct import Direct
from physplan.guidance.paper.update import normalised


class Fused(Direct):
    """g = J^T s rescaled to ||s||, with s the sum at z0, so that step_size means the same in every mode."""

    through_denoiser = True

    def gradient(self, z: Tensor, clean: Tensor) -> Tensor:
        if not self.log.norms:
            return self.at_clean
        (noisy,) = torch.autograd.grad(clean, z, self.at_clean)
        length: Tensor = self.at_clean.norm()
        return normalised(self.log.shared(noisy)) * length
