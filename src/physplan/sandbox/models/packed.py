"""A large network's weights in a byte each: whole numbers, and for every row the step between them.

The outline network alone would fill most of the package in half precision. Rounded this way, what its videos
are measured by stays the same to three digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import torch
from diffusers.models.modeling_utils import ModelMixin
from safetensors.torch import load_file, save_file
from torch import Tensor

FILE = "weights-int8.safetensors"
STEP = ".step"  # behind a tensor's name: how far apart its whole numbers are, per row
LARGE = 4096  # numbers from which on a tensor is worth it

Network = TypeVar("Network", bound=ModelMixin)


def save_packed(model: ModelMixin, folder: Path) -> None:
    model.save_config(folder)
    save_file(pack(model.state_dict()), folder / FILE)


def load_packed(kind: type[Network], folder: Path) -> Network:
    model: Network = kind.from_config(kind.load_config(folder))
    model.load_state_dict(unpack(load_file(folder / FILE)))
    return model


def pack(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    packed: dict[str, Tensor] = {}
    for name, value in weights.items():
        if value.ndim < 2 or value.numel() < LARGE:
            packed[name] = value.detach().half().contiguous()
            continue
        rows = value.detach().float().flatten(1)
        step = (rows.abs().amax(dim=1) / 127).clamp(min=1e-12)
        packed[name] = (rows / step[:, None]).round().to(torch.int8).view_as(value).contiguous()
        packed[name + STEP] = step
    return packed


def unpack(packed: dict[str, Tensor]) -> dict[str, Tensor]:
    weights = {name: value.float() for name, value in packed.items() if not name.endswith(STEP)}
    for name, step in packed.items():
        if name.endswith(STEP):
            of = name.removesuffix(STEP)
            weights[of] = (weights[of].flatten(1) * step[:, None]).view_as(weights[of])
    return weights
