"""Which of the instances a segmenter found is which node of the graph.

Nodes of one category compete for the instances of that category, and no two get the same one. Coordinates are
normalised to [0, 1], so costs do not depend on resolution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt
from scipy.optimize import linear_sum_assignment
from torch import Tensor

if TYPE_CHECKING:
    from physplan.graph import StateGraph

# Overlap decides, distance breaks ties: a thousandth of overlap outweighs the image's diagonal.
OVERLAP_WEIGHT = 1e4


def centroid(mask: Tensor) -> NDArray[np.float64]:
    """(x, y) of the mean pixel of a bool mask [H, W], in [0, 1]."""
    rows, columns = torch.nonzero(mask, as_tuple=True)
    height, width = mask.shape
    return np.array([(columns.double().mean() + 0.5) / width, (rows.double().mean() + 0.5) / height])


def overlap(masks: Sequence[Tensor], others: Sequence[Tensor]) -> NDArray[np.float64]:
    """Intersection over union of every mask with every other, [N, M]."""
    a, b = (torch.stack(tuple(group)).flatten(1).double() for group in (masks, others))
    intersection = a @ b.T
    union = a.sum(1, keepdim=True) + b.sum(1) - intersection
    return (intersection / union.clamp_min(1)).numpy()


def assign(cost: NDArray[np.float64], instances: Sequence[Tensor]) -> tuple[tuple[int, ...], ...]:
    """The instances of each node, as indices, from `cost` [nodes, instances].

    The cheapest one-to-one pairing comes first; then the instances left over join the node whose own instance
    is nearest, so that none is lost (A.4). Nodes left over get nothing.
    """
    paired = dict(zip(*map(np.ndarray.tolist, linear_sum_assignment(cost)), strict=True))
    owned = {node: [instance] for node, instance in paired.items()}
    centres = [centroid(mask) for mask in instances]
    for extra in sorted(set(range(len(instances))) - set(paired.values())):
        nearest = min(paired, key=lambda node: np.linalg.norm(centres[paired[node]] - centres[extra]))
        owned[nearest].append(extra)
    return tuple(tuple(owned.get(node, ())) for node in range(len(cost)))


def tracking_cost(
    nodes: Sequence[str],
    instances: Sequence[Tensor],
    *,
    known: Mapping[str, Tensor],
    sources: Mapping[str, str | None],
) -> NDArray[np.float64]:
    """What it costs to give each node each instance, with the masks `known` from other pictures of the scene.

    A node seen before wants its own place: overlap, then distance. A new node appears where the object it
    comes from was, but claims no overlap, which that object may still need for itself.
    """
    cost = np.zeros((len(nodes), len(instances)))
    centres = np.stack([centroid(mask) for mask in instances])
    for row, node in enumerate(nodes):
        own, origin = known.get(node), known.get(sources.get(node) or "")
        if own is not None:
            cost[row] = -OVERLAP_WEIGHT * overlap([own], instances)[0]
        place = own if own is not None else origin
        if place is not None:
            cost[row] += np.linalg.norm(centres - centroid(place), axis=1)
    return cost


def relation_cost(
    nodes: Sequence[str],
    instances: Sequence[Tensor],
    *,
    graph: StateGraph,
    known: Mapping[str, Tensor],
    nearness: Tensor,
) -> NDArray[np.float64]:
    """The same in the first frame, where only relations tell the nodes of one category apart.

    Each direction adds a linear cost ("a left of b" pulls a to small x and b to large x), whose cheapest
    pairing is the sorted order; any other relation adds the distance to the object at its other end.
    """
    cost = np.zeros((len(nodes), len(instances)))
    centres = np.stack([centroid(mask) for mask in instances])
    depths = np.array([float(nearness[mask].mean()) for mask in instances])
    towards = {"left of": -centres[:, 0], "above": -centres[:, 1], "in front of": depths}
    for row, node in enumerate(nodes):
        for edge in graph.edges_of(node):
            other = edge.b if edge.a == node else edge.a
            if edge.r in towards:
                cost[row] += towards[edge.r] * (-1 if edge.a == node else 1)
            elif other in known:
                cost[row] += _gaps(instances, known[other])
    return cost


def _gaps(instances: Sequence[Tensor], mask: Tensor) -> NDArray[np.float64]:
    """How far each instance is from touching `mask`."""
    distance = distance_transform_edt(~mask.numpy()) / max(mask.shape)
    return np.array([distance[instance.numpy()].min() for instance in instances])
