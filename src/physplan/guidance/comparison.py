"""Every object of an event in the preview beside itself in the keyframe: occupancy, instances, matching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from physplan.guidance.config import MeasureConfig
from physplan.guidance.instances import Instances, find_instances
from physplan.guidance.matching import Matching, match
from physplan.guidance.occupancy import logits, similarity
from physplan.guidance.regions import KeyframeShape, region
from physplan.guidance.targets import EventTarget


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """One object in the preview beside itself in the keyframe."""

    logits: Tensor  # [h, w], of the preview's occupancy
    target: Tensor  # [h, w], of the keyframe's
    preview: Instances
    keyframe: Instances
    shape: KeyframeShape  # of the keyframe's instances, at the previews' size
    matching: Matching
    spawned: bool

    def in_unions(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """The occupancy of the preview, of the keyframe, and R_jl = P_j | Q_l, for every matched pair."""
        now, wanted = self.logits.sigmoid(), self.target.sigmoid()
        unions = [self.preview.mask(j) | self.keyframe.mask(l) for j, l in self.matching.pairs]
        return [(now, wanted, self.on_grid(union)) for union in unions]

    def pairs(self) -> list[tuple[Tensor, Tensor]]:
        return [
            (self.on_grid(self.preview.mask(j)), self.on_grid(self.keyframe.mask(l)))
            for j, l in self.matching.pairs
        ]

    def on_grid(self, mask: NDArray[np.bool_]) -> Tensor:
        return torch.from_numpy(mask).to(self.logits)

    def region(self) -> Tensor:
        """Omega_k of eq. 9 [H, W] at the previews' size."""
        return self.on_grid(region(self.preview, self.shape, self.matching))


def compare(
    target: EventTarget, features: Tensor, config: MeasureConfig, temperature: float
) -> dict[str, Comparison]:
    """Locate every usable object of the event in the preview's features [C, h, w]."""
    if not target.objects:
        return {}
    references = torch.stack([known.reference for known in target.objects.values()])
    similar = similarity(features, references)
    found = (similar.detach() > config.instance_similarity).cpu().numpy()
    preview_logits = logits(similar, threshold=config.threshold, temperature=temperature)
    compared = {}
    for row, (node, known) in enumerate(target.objects.items()):
        # A consumed object is nowhere in the keyframe: whatever looks like it in the preview is to go.
        ignored = config.ignore_lookalikes and len(known.instances) > 0
        seen = found[row] & ~known.lookalikes if ignored else found[row]
        instances = find_instances(seen, smallest=config.smallest_instance)
        compared[node] = Comparison(
            logits=preview_logits[row],
            target=logits(known.similarity, threshold=config.threshold, temperature=temperature),
            preview=instances,
            keyframe=known.instances,
            shape=known.shape,
            matching=match(instances, known.instances),
            spawned=known.spawned,
        )
    return compared
