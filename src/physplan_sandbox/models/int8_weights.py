"""Int8 weight storage: per-row absmax quantisation of large tensors, half precision for the rest.

Halves the outline network's share of the wheel; the video metrics stay equal to three digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import torch
from diffusers.models.modeling_utils import ModelMixin
from safetensors.torch import load_file, save_file
from torch import Tensor

WEIGHTS_NAME = "weights-int8.safetensors"
SCALE_SUFFIX = ".step"  # suffix of a tensor's name: its per-row scale
MIN_QUANTISED_SIZE = 4096  # smaller tensors stay in half precision

Network = TypeVar("Network", bound=ModelMixin)


def save_packed(model: ModelMixin, folder: Path) -> None:
    model.save_config(folder)
    save_file(pack(model.state_dict()), folder / WEIGHTS_NAME)


def load_packed(kind: type[Network], folder: Path) -> Network:
    model: Network = kind.from_config(kind.load_config(folder))
    model.load_state_dict(unpack(load_file(folder / WEIGHTS_NAME)))
    return model


def pack(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    packed: dict[str, Tensor] = {}
    for name, value in weights.items():
        if value.ndim < 2 or value.numel() < MIN_QUANTISED_SIZE:
            packed[name] = value.detach().half().contiguous()
            continue
        rows = value.detach().float().flatten(1)
        step = (rows.abs().amax(dim=1) / 127).clamp(min=1e-12)
        packed[name] = (rows / step[:, None]).round().to(torch.int8).view_as(value).contiguous()
        packed[name + SCALE_SUFFIX] = step
    return packed


def unpack(packed: dict[str, Tensor]) -> dict[str, Tensor]:
    weights = {name: value.float() for name, value in packed.items() if not name.endswith(SCALE_SUFFIX)}
    for name, step in packed.items():
        if name.endswith(SCALE_SUFFIX):
            of = name.removesuffix(SCALE_SUFFIX)
            weights[of] = (weights[of].flatten(1) * step[:, None]).view_as(weights[of])
    return weights
