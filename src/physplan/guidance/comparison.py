"""Every object of an event in the preview beside itself in the keyframe, under the run's settings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from physplan.graph import EventChain
from physplan.guidance.config import MeasureConfig
from physplan.guidance.extensions.lookalikes import lookalikes
from physplan.guidance.paper.instances import find_instances
from physplan.guidance.paper.keyframes import EventTarget
from physplan.guidance.paper.matching import match
from physplan.guidance.paper.measurement import Comparison
from physplan.guidance.paper.occupancy import logits, occupancy, similarity


@dataclass(frozen=True, kw_only=True, eq=False)
class DetailedComparison(Comparison):
    """What the settings beyond the paper's need to know of an object as well."""

    logits: Tensor  # [h, w], of the preview's occupancy
    target_logits: Tensor  # [h, w], of the keyframe's
    spawned: bool  # whether the object is not in the first frame
    area: int  # cells of the mask that its reference is from


@dataclass(frozen=True, kw_only=True, eq=False)
class EventKeyframe:
    """An event's keyframe, and its cells that look like an object without being it."""

    target: EventTarget
    ignored: dict[str, NDArray[np.bool_]]  # [h, w] by object
    first: Collection[str]  # the objects of the first frame

    @classmethod
    def of(cls, target: EventTarget, chain: EventChain, config: MeasureConfig) -> EventKeyframe:
        level, nodes = config.instance_similarity, target.objects if config.ignore_lookalikes else ()
        ignored = {node: lookalikes(target, node, level) for node in nodes}
        return cls(target=target, ignored=ignored, first=chain.graph.ids)


def compare(
    keyframe: EventKeyframe, features: Tensor, config: MeasureConfig
) -> dict[str, DetailedComparison]:
    """Locate every usable object of the event in the preview's features [C, h, w]."""
    objects = keyframe.target.objects
    if not objects:
        return {}
    similar = similarity(features, torch.stack([known.reference for known in objects.values()]))
    found = (similar.detach() > config.instance_similarity).cpu().numpy()
    eq4 = {"threshold": config.threshold, "temperature": config.temperature}
    maps, occupied = logits(similar, **eq4), occupancy(similar, **eq4)
    compared = {}
    for row, (node, known) in enumerate(objects.items()):
        instances = find_instances(found[row] & ~keyframe.ignored.get(node, np.zeros((), dtype=bool)))
        compared[node] = DetailedComparison(
            occupancy=occupied[row],
            target=occupancy(known.similarity, **eq4),
            logits=maps[row],
            target_logits=logits(known.similarity, **eq4),
            preview=instances,
            keyframe=known.instances,
            shape=known.shape,
            matching=match(instances, known.instances),
            spawned=node not in keyframe.first,
            area=known.area,
        )
    return compared
