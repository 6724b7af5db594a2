"""Where a model comes from: a local folder or a hub id, an image-to-video family, safetensors only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_models.families import FAMILIES, family_of

_NOT_KNOWN = f"a {{}}, not an image-to-video model that PhysPlan knows: use one of {', '.join(FAMILIES)}."
DENOISERS = ("transformer", "transformer_2", "unet")
SECOND_DENOISER = "transformer_2:"  # before a LoRA's file, where a model has two denoisers


def lora_file(name: str) -> Path:
    """The file of an entry of `video.loras`."""
    return Path(name.removeprefix(SECOND_DENOISER))


def find_folder(
    source: str | Path,
    *,
    revision: str | None = None,
    local_files_only: bool = False,
    without: Iterable[str] = (),
) -> Path:
    """The local folder of `source`, fetched first when it is a hub id; `without` what is had elsewhere."""
    if Path(source).is_dir():
        return Path(source)
    text = str(source)
    if text.count("/") != 1 or text.startswith((".", "/", "~")):
        raise PhysPlanError(
            f"There is no folder {source}: give a model's folder, or a hub id such as owner/name."
        )
    from diffusers import DiffusionPipeline

    try:
        return Path(
            DiffusionPipeline.download(
                text,
                revision=revision,
                use_safetensors=True,
                local_files_only=local_files_only,
                **dict.fromkeys(without),
            )
        )
    except Exception as error:
        # The hub client raises a dozen kinds of errors; all of them mean the same to the person waiting.
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise PhysPlanError(
            f"{text} is no folder here and could not be fetched from the hub ({reason}): check the name"
            " and the network, or fetch it elsewhere and give its folder."
        ) from error


def read_index(folder: Path) -> dict[str, Any]:
    """model_index.json of an image-to-video model whose weights are safetensors."""
    path = folder / "model_index.json"
    try:
        index: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise PhysPlanError(
            f"{folder} holds no diffusers model (no model_index.json): give the folder that has one."
        ) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise PhysPlanError(f"{path} is not valid JSON: fetch the model again.") from error
    name = str(index.get("_class_name"))
    try:
        usable = family_of(name).makes_videos(index)
    except PhysPlanError as error:
        raise PhysPlanError(f"{folder} is {_NOT_KNOWN.format(name)} {error}") from None
    if not usable:
        raise PhysPlanError(f"{folder} is {_NOT_KNOWN.format(name)}")
    for component in sorted(c for c in folder.iterdir() if c.is_dir() and is_present(index, c.name)):
        pickles = [p for suffix in ("bin", "pt", "pth", "ckpt") for p in component.glob(f"*.{suffix}")]
        if pickles and not any(component.glob("*.safetensors")):
            raise PhysPlanError(
                f"{component} has its weights as a pickle ({pickles[0].name}), which can run code: use"
                " a safetensors version of the model."
            )
    return index


def is_present(index: Mapping[str, Any], name: str) -> bool:
    entry = index.get(name)
    return isinstance(entry, list) and entry[0] is not None
