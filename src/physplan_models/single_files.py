"""A component's weights from one safetensors file, as model makers and ComfyUI hand them out.

Such a file names the weights as the makers do and says nothing of the network's shape: the shape is that of
the model's folder, or of the published model where the folder's part was never fetched.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from physplan.weights import WeightsError

Shape = tuple[str, Mapping[str, Any]]  # class, its config

# The encoder of T5 v1.1 XXL, which the published models with a `T5EncoderModel` share.
T5_XXL: Mapping[str, Any] = {
    "d_model": 4096, "d_kv": 64, "d_ff": 10240, "num_layers": 24, "num_heads": 64,
    "feed_forward_proj": "gated-gelu", "vocab_size": 32128, "tie_word_embeddings": False,
}  # fmt: skip


def shape_of(name: str, folder: Path, networks: Mapping[str, Shape]) -> Shape:
    """Of the component `name`: as its folder says, or as the published model is known to be."""
    try:
        config = json.loads((folder / name / "config.json").read_text(encoding="utf-8"))
        return str(config.pop("_class_name", (config.get("architectures") or [""])[0])), config
    except (OSError, ValueError, AttributeError) as error:
        if name in networks:
            return networks[name]
        raise WeightsError(
            f"Nothing says which network the file of {name} is for: give its folder too ({error})."
        ) from None


def load_network(file: Path, shape: Shape, *, dtype: torch.dtype) -> Any:
    """A denoiser or an autoencoder, its weights renamed to diffusers' names."""
    import diffusers

    class_name, config = shape
    check_file(file)
    with tempfile.TemporaryDirectory(prefix="physplan-") as folder:
        (Path(folder) / "config.json").write_text(json.dumps({"_class_name": class_name, **config}))
        try:
            network: Any = getattr(diffusers, class_name).from_single_file(
                str(file), config=folder, dtype=dtype, local_files_only=True
            )
        except (OSError, ValueError, RuntimeError, KeyError, AttributeError, SafetensorError) as error:
            raise _other(file, class_name, str(error)) from error
    if lacking := [name for name, weight in network.named_parameters() if weight.is_meta]:
        raise _other(file, class_name, f"{len(lacking)} weights are missing, such as {lacking[0]}")
    return network


def load_encoder(file: Path, class_name: str, config: Mapping[str, Any], *, dtype: torch.dtype) -> Any:
    """A text encoder of transformers."""
    import transformers
    from safetensors.torch import load_file

    check_file(file)
    kind: Any = getattr(transformers, class_name)
    settings = kind.config_class.from_dict(dict(config))
    try:
        model, report = kind.from_pretrained(
            None, config=settings, state_dict=load_file(file), dtype=dtype, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise _other(file, class_name, str(error)) from error
    if missing := sorted(report["missing_keys"]):
        raise _other(file, class_name, f"{len(missing)} weights are missing, such as {missing[0]}")
    return model.eval().requires_grad_(False)


def check_file(file: Path) -> None:
    """Refuse what is no safetensors file, and 8-bit weights, whose scales only ComfyUI's loaders know."""
    if file.suffix != ".safetensors" or not file.is_file():
        raise WeightsError(f"There is no file {file}: give a .safetensors file with the weights.")
    try:
        with safe_open(file, framework="pt") as opened:
            kinds = {opened.get_slice(name).get_dtype() for name in opened.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{file} is not a safetensors file that can be read: fetch it again.") from error
    if any(kind.startswith("F8") for kind in kinds):
        raise WeightsError(f"{file} holds 8-bit weights: give the bf16 or fp16 file of the model.")


def _other(file: Path, class_name: str, reason: str) -> WeightsError:
    first = reason.strip().splitlines()[0] if reason.strip() else "no reason given"
    return WeightsError(f"{file} does not hold the weights of a {class_name} of this model ({first}).")
