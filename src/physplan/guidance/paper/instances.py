"""Instances: the connected components of an occupancy or a mask on the feature grid. No gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

NEIGHBOURS = np.ones((3, 3), dtype=int)  # diagonals count: a thin slanted object is one instance


@dataclass(frozen=True, kw_only=True, eq=False)
class Instances:
    """Disjoint sets of cells of an [h, w] grid."""

    labels: NDArray[np.int64]  # [h, w]; 0 is the background, instance n has the label n + 1
    areas: NDArray[np.int64]  # [N], in cells
    centroids: NDArray[np.float64]  # [N, 2], (x, y) in [0, 1]: distances do not depend on resolution

    def __len__(self) -> int:
        return len(self.areas)

    def mask(self, index: int) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.labels == index + 1
        return mask


def find_instances(mask: NDArray[np.bool_]) -> Instances:
    """The connected components of a bool grid."""
    found, count = ndimage.label(mask, structure=NEIGHBOURS)
    labels = found.astype(np.int64)
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    rows, columns = np.nonzero(labels)
    owner = labels[rows, columns] - 1
    height, width = mask.shape
    x = np.bincount(owner, (columns + 0.5) / width, minlength=count)
    y = np.bincount(owner, (rows + 0.5) / height, minlength=count)
    centroids = np.stack([x, y], axis=1) / areas[:, None]
    return Instances(labels=labels, areas=areas, centroids=centroids)


def averages(values: Tensor, instances: Instances) -> Tensor:
    """avg of a map [h, w] over every instance at once: [N]. Differentiable in the map."""
    labels = torch.from_numpy(instances.labels).to(values.device).flatten()
    areas = torch.from_numpy(instances.areas).to(values)
    sums = values.new_zeros(len(instances) + 1).index_add(0, labels, values.flatten())
    return sums[1:] / areas
