"""XFeat's dense descriptors as a feature encoder: 64 channels, 32 x 32 cells of the picture.

onnxruntime runs it, so no gradient passes: it serves the verdict, not the guidance.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.perception.images import resize
from physplan_photo.sessions import session

FILE, SIDE = "xfeat_256x256.onnx", 256


class XFeat:
    @classmethod
    def from_pretrained(cls) -> XFeat:
        session(FILE)  # what is missing is said before anything runs
        return cls()

    def __call__(self, images: Tensor) -> Tensor:
        """Unit descriptors [B, 64, 32, 32] of images [B, 3, H, W] in [0, 1]."""
        if images.requires_grad:
            raise PhysPlanError(
                "xfeat lets no gradient through, so it cannot guide a video: choose dinov2 as the encoder."
            )
        pixels = resize(images.detach().cpu(), (SIDE, SIDE), "bilinear").float().numpy()
        run = session(FILE).run
        found = [run(["output"], {"input": np.ascontiguousarray(one[None])})[0] for one in pixels]
        features = torch.from_numpy(np.concatenate(found)).to(images.device)
        return torch.nn.functional.normalize(features, dim=1)
