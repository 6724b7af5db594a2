"""LoRAs from safetensors files, added to a denoiser's weights as it is loaded: a run is as fast as without.

The library's own names and those it knows how to convert are read; peft is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan_models.single_files import check_file
from physplan_models.sources import DENOISERS, SECOND_DENOISER, lora_file

DOWN, UP, SHIFT, ALPHA = ".lora_A.weight", ".lora_B.weight", ".lora_B.bias", ".alpha"


@torch.no_grad()
def add_loras(pipe: Any, wanted: Mapping[str, float]) -> None:
    """W + weight * (alpha / rank) B A, for every file by name with its weight."""
    for name, weight in wanted.items():
        file, network = lora_file(name), _network(pipe, name)
        pairs = read(pipe, file)
        lacking = [key for key in pairs if not _holds(network, key, pairs[key])]
        if lacking:
            raise PhysPlanError(
                f"{file} is not a LoRA of this {type(network).__name__}: {len(lacking)} of {len(pairs)}"
                f" layers do not fit, such as {lacking[0]}."
            )
        for key, parts in pairs.items():
            layer = network.get_submodule(key)
            layer.weight += (weight * change(parts)).view_as(layer.weight).to(layer.weight)
            if SHIFT in parts and layer.bias is not None:
                layer.bias += weight * parts[SHIFT].to(layer.bias)


def read(pipe: Any, file: Path) -> dict[str, dict[str, Tensor]]:
    """By layer of the denoiser: A [r, in], B [out, r], and what else is given."""
    check_file(file)
    if not hasattr(pipe, "lora_state_dict"):
        raise PhysPlanError(f"The library knows no LoRA for a {type(pipe).__name__}: leave video.loras out.")
    try:
        weights = pipe.lora_state_dict(str(file), local_files_only=True)
    except (ValueError, KeyError, OSError, RuntimeError) as error:
        raise PhysPlanError(f"{file} holds no LoRA that the library reads ({_first(error)}).") from error
    found: dict[str, dict[str, Tensor]] = {}
    for key, value in weights.items():
        for end in (DOWN, UP, SHIFT, ALPHA):
            if key.endswith(end) and key.startswith(DENOISERS):
                layer = key.split(".", 1)[1].removesuffix(end)
                found.setdefault(layer, {})[end] = value
    if not found:
        raise PhysPlanError(f"{file} holds no LoRA of a denoiser: its layers are named otherwise.")
    return found


def change(parts: Mapping[str, Tensor]) -> Tensor:
    """(alpha / rank) B A in float32, [out, in]."""
    down, up = parts[DOWN].float().flatten(1), parts[UP].float().flatten(1)
    rank = len(down)
    return float(parts.get(ALPHA, torch.tensor(rank))) / rank * (up @ down)


def _network(pipe: Any, name: str) -> Any:
    second = getattr(pipe, "transformer_2", None)
    if name.startswith(SECOND_DENOISER):
        if second is None:
            raise PhysPlanError(f"{lora_file(name)} is for a second denoiser, and this model has one alone.")
        return second
    return pipe.transformer


def _holds(network: Any, key: str, parts: Mapping[str, Tensor]) -> bool:
    try:
        weight = network.get_submodule(key).weight
    except AttributeError:
        return False
    complete = DOWN in parts and UP in parts
    return complete and weight.numel() == len(parts[UP]) * parts[DOWN].flatten(1).shape[1]


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
