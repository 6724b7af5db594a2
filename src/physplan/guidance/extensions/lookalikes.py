"""Cells that look like an object in the keyframe as well, without being it: no copies of it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from physplan.guidance.paper.instances import NEIGHBOURS, find_instances
from physplan.guidance.paper.keyframes import EventTarget


def lookalikes(target: EventTarget, node: str, level: float) -> NDArray[np.bool_]:
    """Cells [h, w] of the keyframe whose similarity to the object is above `level`, and that lie in another
    object's mask or are not connected with the object's own; with the cells around them."""
    similar = target.objects[node].similarity
    none = torch.zeros_like(similar, dtype=torch.bool)
    own = target.masks.get(node, none).cpu().numpy()
    others = [mask for other, mask in target.masks.items() if other != node]
    foreign = torch.stack([*others, none]).any(0).cpu().numpy() & ~own
    alike = (similar > level).cpu().numpy()
    parts = find_instances(alike)
    apart = ~np.isin(parts.labels, np.unique(parts.labels[own])) if own.any() else np.zeros_like(own)
    found: NDArray[np.bool_] = grown(alike & (foreign | apart)) & ~own
    return found


def grown(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A bool grid and the cells around it."""
    larger: NDArray[np.bool_] = ndimage.binary_dilation(mask, structure=NEIGHBOURS)
    return larger
