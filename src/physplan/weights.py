"""Weights from a folder or the hub: safetensors only, no remote code, a clear sentence when they are missing.

`source` is a folder written by `save_pretrained` or a hub name such as "facebook/dinov2-base"; `revision`
pins the hub's commit and should be a full hash, because a branch can move.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from physplan.errors import PhysPlanError

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


class WeightsError(PhysPlanError):
    """The weights of a backend cannot be used."""


def load_model(
    model_class: Any, source: str | os.PathLike[str], *, revision: str | None = None, **options: Any
) -> Any:
    """A transformers model of exactly `model_class`, frozen, in eval mode, with no weight left random."""
    model, report = load(
        model_class, source, revision=revision, use_safetensors=True, output_loading_info=True, **options
    )
    # Without this check a checkpoint of another network would load, with random weights in the gaps.
    if missing := sorted(report["missing_keys"]):
        raise WeightsError(
            f"{source} does not hold a {model_class.__name__}: {len(missing)} of its weights are missing "
            f"(such as {missing[0]}). Give the folder or hub name of such a model."
        )
    return model.eval().requires_grad_(False)


def load(
    loaded_class: Any, source: str | os.PathLike[str], *, revision: str | None = None, **options: Any
) -> Any:
    """`loaded_class.from_pretrained(source)`, with what can go wrong said in one sentence."""
    name = loaded_class.__name__
    folder = Path(source).expanduser()
    local = folder.is_dir()
    if not local and (folder.is_absolute() or str(source).startswith((".", "~"))):
        raise WeightsError(f"There is no folder {source} with the weights of {name}: check the path.")
    try:
        return loaded_class.from_pretrained(
            str(folder) if local else str(source), revision=revision, **options
        )
    except (OSError, ValueError, RuntimeError, KeyError, AttributeError, SafetensorError) as error:
        raise WeightsError(_explain(name, source, local, error)) from error


def _explain(name: str, source: str | os.PathLike[str], local: bool, error: BaseException) -> str:
    told = "; ".join(str(cause) for cause in _causes(error)).lower()
    first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if local:
        return (
            f"Cannot load {name} from the folder {source}: is it complete, with safetensors? ({first_line})"
        )
    if "gated" in told or "401" in told or "403" in told:
        return (
            f"The weights of {name} at {source} are gated or private: ask for access on their hub page and "
            "log in with `hf auth login`, or choose another backend."
        )
    if "safetensors" in told and "404" not in told and "connect" not in told:
        return f"{source} has no safetensors weights for {name}; no other kind is loaded."
    return (
        f"The weights of {name} at {source} are not on this machine and could not be downloaded: go online, "
        f"or give a local folder ({first_line})."
    )


def _causes(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *_causes(error.__cause__ or error.__context__)]
