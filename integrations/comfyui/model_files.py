"""Which of the files in ComfyUI's model folders are the weights that a preset names.

Folders as `save_pretrained` writes them are found by the name on the hub; single files, ComfyUI's own way to
keep a model, by the names under which it hands them out. 8-bit files are left to ComfyUI's loaders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_T5 = {"text_encoder": ("text_encoders", ("t5xxl_fp16.safetensors",))}
_WAN_VAE = {"vae": ("vae", ("wan_2.1_vae.safetensors",))}


def _ltx(*names: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """One file holds the denoiser and the autoencoder."""
    return {"transformer": ("checkpoints", names), "vae": ("checkpoints", names), **_T5}


def _wan(part: str, name: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    names = tuple(f"{name}_{kind}.safetensors" for kind in ("bf16", "fp16"))
    return {part: ("diffusion_models", names)}


# The hub's name -> part of the model -> ComfyUI's kind of folder, the file's names there.
SINGLE_FILES: Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "Lightricks/LTX-Video": _ltx("ltx-video-2b-v0.9.safetensors"),
    "Lightricks/LTX-Video-0.9.5": _ltx("ltx-video-2b-v0.9.5.safetensors"),
    "Wan-AI/Wan2.1-I2V-14B-480P-Diffusers": _wan("transformer", "wan2.1_i2v_480p_14B") | _WAN_VAE,
    "Wan-AI/Wan2.2-I2V-A14B-Diffusers": _wan("transformer", "wan2.2_i2v_high_noise_14B")
    | _wan("transformer_2", "wan2.2_i2v_low_noise_14B")
    | _WAN_VAE,
    "Wan-AI/Wan2.2-TI2V-5B-Diffusers": _wan("transformer", "wan2.2_ti2v_5B")
    | {"vae": ("vae", ("wan2.2_vae.safetensors",))},
}

FindFile = Callable[[str, str], str | None]  # (kind of folder, a file's name) -> its path, where it is there


def no_file(kind: str, name: str) -> str | None:
    """Without ComfyUI there are no folders of its kinds."""
    return None


@dataclass(frozen=True, kw_only=True)
class Models:
    """Where weights may lie beside the hub's cache."""

    folders: Sequence[Path] = ()
    find_file: FindFile = no_file


def find_folder(name: object, folders: Sequence[Path]) -> Path | None:
    """Of a name on the hub that lies in one of the folders as owner/name, owner--name or name."""
    if not isinstance(name, str) or name.count("/") != 1 or name.startswith(("/", ".", "~")):
        return None
    owner, last = name.split("/")
    names = (Path(owner) / last, Path(f"{owner}--{last}"), Path(last))
    return next((f / n for f in folders for n in names if (f / n).is_dir()), None)


def find_files(name: str | None, find_file: FindFile) -> dict[str, str]:
    """Part of the model -> the single file with its weights, for those that are there."""
    parts = SINGLE_FILES.get(name or "", {})
    found = {
        part: next((path for one in names if (path := find_file(kind, one))), None)
        for part, (kind, names) in parts.items()
    }
    return {part: path for part, path in found.items() if path is not None}
