"""A tiny denoiser's weights as a GGUF file: matrices in 8 or 4 bits, the rest as it is."""

from __future__ import annotations

from pathlib import Path

import gguf
from safetensors.numpy import load_file

BLOCK = 32  # numbers that share a scale


def write(network: Path, file: Path, kind: str) -> Path:
    """The safetensors of a network's folder as `file`; `kind` is Q8_0 or Q4_0."""
    wanted = gguf.GGMLQuantizationType[kind]
    writer = gguf.GGUFWriter(file, arch="tiny")
    for name, weight in load_file(network / "diffusion_pytorch_model.safetensors").items():
        matrix = weight.ndim == 2 and weight.shape[1] % BLOCK == 0 and "norm" not in name
        if matrix and "table" not in name:
            writer.add_tensor(name, gguf.quants.quantize(weight, wanted), raw_dtype=wanted)
        else:
            writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file
