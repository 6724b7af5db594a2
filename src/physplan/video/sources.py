"""Where a model comes from: a local folder or a hub id, an image-to-video family, safetensors only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError

# The pipeline class a folder names, the class that makes videos from pictures with it, and our family.
PIPELINES = {
    "CogVideoXImageToVideoPipeline": ("CogVideoXImageToVideoPipeline", "cogvideox"),
    "WanImageToVideoPipeline": ("WanImageToVideoPipeline", "wan"),
    "WanPipeline": ("WanImageToVideoPipeline", "wan"),  # TI2V-5B is published under this name
    "LTXImageToVideoPipeline": ("LTXImageToVideoPipeline", "ltx"),
    "LTXPipeline": ("LTXImageToVideoPipeline", "ltx"),
    "LTXConditionPipeline": ("LTXImageToVideoPipeline", "ltx"),
    "StableVideoDiffusionPipeline": ("StableVideoDiffusionPipeline", "svd"),
}

# The scheduler of each family whose steps have our closed form.
SCHEDULERS = {
    "cogvideox": "CogVideoXDDIMScheduler",
    "wan": "FlowMatchEulerDiscreteScheduler",
    "ltx": "FlowMatchEulerDiscreteScheduler",
    "svd": "EulerDiscreteScheduler",
}
DENOISERS = ("transformer", "transformer_2", "unet")


def find_folder(source: str | Path, *, revision: str | None = None, local_files_only: bool = False) -> Path:
    """The local folder of `source`, fetched first when it is a hub id."""
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
    name = index.get("_class_name")
    if name not in PIPELINES or (name == "WanPipeline" and not index.get("expand_timesteps")):
        known = "CogVideoX, Wan and LTX image-to-video, and Stable Video Diffusion"
        raise PhysPlanError(
            f"{folder} is a {name}, not an image-to-video model that PhysPlan knows: use {known}."
        )
    for component in sorted(c for c in folder.iterdir() if c.is_dir() and is_present(index, c.name)):
        pickles = [p for suffix in ("bin", "pt", "pth", "ckpt") for p in component.glob(f"*.{suffix}")]
        if pickles and not any(component.glob("*.safetensors")):
            raise PhysPlanError(
                f"{component} has its weights as a pickle ({pickles[0].name}), which can run code: use"
                " a safetensors version of the model."
            )
    return index


def is_present(index: dict[str, Any], name: str) -> bool:
    entry = index.get(name)
    return isinstance(entry, list) and entry[0] is not None
