"""One look at one picture: instances of the wanted categories and depth, not yet assigned to nodes.

Looking is what costs (two networks); who is who is worked out from a sighting as often as needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from physplan.perception.protocol import DepthEstimator, Segmenter, normalise_depth

if TYPE_CHECKING:
    from physplan.graph import StateGraph


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sighting:
    image: Tensor  # [3, H, W] in [0, 1]
    instances: Mapping[str, tuple[Tensor, ...]]  # case-folded category -> bool [H, W], from left to right
    depth: Tensor  # [H, W] in [0, 1], larger is nearer


@torch.no_grad()
def look(graph: StateGraph, image: Tensor, *, segmenter: Segmenter, depth: DepthEstimator) -> Sighting:
    """Look in a picture [3, H, W] for the categories of a state."""
    spelling: dict[str, str] = {}
    for node in graph.nodes:
        # "Ball" and "ball" are one category: detectors do not know the difference.
        spelling.setdefault(node.category.casefold(), node.category)
    nearness = normalise_depth(depth(image[None]))[0].float().cpu()
    found: dict[str, list[Tensor]] = defaultdict(list)
    for instance in segmenter.segment(image, tuple(spelling.values())):
        if instance.mask.any():
            found[instance.category.casefold()].append(instance.mask.cpu())
    leftmost = lambda mask: int(torch.nonzero(mask.any(0))[0])  # noqa: E731
    instances = {category: tuple(sorted(masks, key=leftmost)) for category, masks in found.items()}
    return Sighting(image=image.cpu(), instances=instances, depth=nearness)
