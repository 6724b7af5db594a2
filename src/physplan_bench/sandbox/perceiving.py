"""What the sandbox's own networks see in a video: features of two kinds, and where things are.

They are the measure, so they are the world's own whatever a study's settings say. The encoder is trained
without labels; guidance follows its features. The segmenter is trained on the world's labels; nothing is
tuned by its features, they are for the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from physplan_bench.sandbox.movement import Place, place
from physplan_sandbox import components
from physplan_sandbox.models.sight import group_instances
from physplan_sandbox.world.categories import CATEGORIES

AT_ONCE = 8
CELL_SIZE = 4  # pixels on a side: the encoder's patches, and the segmenter's answers averaged likewise


@dataclass(frozen=True, kw_only=True, eq=False)
class Perceived:
    encoder: np.ndarray  # [T, C, h, w]
    sight: np.ndarray  # [T, K, h, w]: how much each cell looks like each category
    named: np.ndarray  # [T, H, W]: category of each pixel
    offsets: np.ndarray  # [T, 2, H, W]: to the middle of its object

    @property
    def maps(self) -> dict[str, np.ndarray]:
        return {"encoder": self.encoder, "sight": self.sight}

    def places(self, category: str) -> Sequence[Sequence[Place]]:
        """Per frame the centroids of all objects of a category."""
        wanted, segmenter = CATEGORIES.index(category), components.load_segmenter()
        return [
            [
                found
                for mask in group_instances(named == wanted, offsets, smallest=segmenter.smallest)
                if (found := place(mask)) is not None
            ]
            for named, offsets in zip(self.named, self.offsets, strict=True)
        ]


@torch.no_grad()
def perceive(video: np.ndarray) -> Perceived:
    frames = torch.from_numpy(video).permute(0, 3, 1, 2).float() / 255
    encoder, sight = components.load_encoder(), components.load_segmenter().model
    features = torch.cat([encoder(chunk) for chunk in torch.split(frames, AT_ONCE)])
    answers = [sight(chunk) for chunk in torch.split(frames, AT_ONCE)]
    logits, offsets = (torch.cat([answer[i] for answer in answers]) for i in (0, 1))
    return Perceived(
        encoder=features.numpy(),
        sight=F.avg_pool2d(logits, CELL_SIZE).numpy(),
        named=logits.argmax(dim=1).numpy(),
        offsets=offsets.numpy(),
    )
