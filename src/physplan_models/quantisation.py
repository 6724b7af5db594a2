"""Weights in 8 or 4 bits, or stored in 8 and computed in 16: the denoiser's, through the library's back ends.

A choice is the name of one, or a GGUF file of the denoiser. They change what a model computes, a little.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from physplan.errors import PhysPlanError
from physplan_models.quantisation_backends import GGUF, back_end, check_rest, lacking

STORED = torch.float8_e4m3fn


def check(choice: str, *, device: str, offload: str, denoisers: int, network: Any) -> None:
    """Refuse what cannot be loaded, before it is tried."""
    if missing := [f"{what} ({fix})" for what, fix in lacking(choice, device=device)]:
        raise PhysPlanError(f"The quantisation {choice} lacks {'; '.join(missing)}.")
    check_rest(choice, offload)
    check_network(choice, denoisers=denoisers, network=network)


def check_network(choice: str, *, denoisers: int, network: Any) -> None:
    """Refuse a choice that does not go with a class of networks."""
    if choice == "fp8-storage" and network.__name__.startswith("UNet"):
        raise PhysPlanError(
            "A backward pass through a U-Net's convolutions finds the stored weights, not those it computed"
            " with: use torchao-int8, or no quantisation."
        )
    if back_end(choice) is GGUF and denoisers > 1:
        raise PhysPlanError("A GGUF file holds one denoiser, and this model has two: use a back end by name.")
    if back_end(choice) is GGUF and not _reads_files(network):
        raise PhysPlanError(
            f"The library reads no GGUF file of a {network.__name__}: use a back end by name, such as"
            " torchao-int8."
        )


def load(network: Any, folder: Path, choice: str, dtype: torch.dtype) -> Any:
    """A denoiser of the class `network` with its matrices quantised; `fp8-storage` comes after loading."""
    import diffusers

    if choice.endswith(".gguf"):
        config = diffusers.GGUFQuantizationConfig(compute_dtype=dtype)
        return network.from_single_file(
            choice, config=str(folder), quantization_config=config, torch_dtype=dtype, local_files_only=True
        )
    if choice == "torchao-int8":
        from torchao.quantization import Int8WeightOnlyConfig

        config = diffusers.TorchAoConfig(Int8WeightOnlyConfig())
    elif choice == "bitsandbytes-nf4":
        config = diffusers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
        )
    else:
        config = diffusers.BitsAndBytesConfig(load_in_8bit=True)
    return network.from_pretrained(
        folder, quantization_config=config, torch_dtype=dtype, use_safetensors=True, local_files_only=True
    )


def store_in_8_bits(network: Any, dtype: torch.dtype) -> None:
    """Each layer's weights are cast for its turn, and back."""
    network.enable_layerwise_casting(storage_dtype=STORED, compute_dtype=dtype)


def on_shapes(network: Any, choice: str, dtype: torch.dtype) -> None:
    """Give a network on the meta device the bytes of a quantised one: at rest, and while a matrix is used."""
    if choice == "fp8-storage":
        store_in_8_bits(network, dtype)
        return
    matrices = [module for module in network.modules() if type(module) is nn.Linear]
    bits = back_end(choice).bits
    if choice.endswith(".gguf"):
        numbers = sum(module.weight.numel() for module in matrices)
        others = sum(p.numel() for p in network.parameters()) - numbers
        bits = 8 * max(0, Path(choice).stat().st_size - others * dtype.itemsize) / numbers
    for matrix in matrices:
        _pack(matrix, bits, dtype)


def _pack(matrix: Any, bits: float, dtype: torch.dtype) -> None:
    shape, device = matrix.weight.shape, matrix.weight.device
    packed = torch.empty(round(shape.numel() * bits / 8), dtype=torch.int8, device=device)
    matrix.weight = nn.Parameter(packed, requires_grad=False)

    def forward(inputs: torch.Tensor) -> torch.Tensor:
        return F.linear(inputs, torch.empty(shape, dtype=dtype, device=device), matrix.bias)

    matrix.forward = forward


def _reads_files(network: Any) -> bool:
    from diffusers.loaders.single_file_model import SINGLE_FILE_LOADABLE_CLASSES

    return network.__name__ in SINGLE_FILE_LOADABLE_CLASSES
