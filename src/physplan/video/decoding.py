"""The final decode: latents are on disk before it starts, and a decode that fails costs only the decode."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.tensors import open_tensors, save_tensors
from physplan.video.frames import FrameLayout
from physplan.video.protocol import VideoModel


def save_latents(path: Path, latents: Tensor, layout: FrameLayout) -> None:
    """Finished latents with all that a later decode needs."""
    header = asdict(layout)
    save_tensors(path, {"latents": latents.cpu().contiguous()}, {"layout": json.dumps(header)})


def load_latents(path: Path) -> tuple[Tensor, FrameLayout]:
    try:
        with open_tensors(path) as file:
            header = json.loads(file.metadata()["layout"])
            if not all(isinstance(value, int) for value in header.values()):
                raise TypeError("its layout is not of whole numbers")
            return file.get_tensor("latents"), FrameLayout(**header)
    except FileNotFoundError as error:
        raise PhysPlanError(f"There are no latents at {path}: sample the video first.") from error
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise PhysPlanError(f"{path} is not a file of latents ({error}): sample the video again.") from error


def decode_safely(model: VideoModel, latents: Tensor, layout: FrameLayout, path: Path) -> Tensor:
    """The video [F, 3, H, W] of the latents saved at `path`; a failed decode is retried tiled."""
    try:
        return model.decode(latents, layout)
    except (torch.OutOfMemoryError, RuntimeError, MemoryError):
        if latents.is_cuda:
            torch.cuda.empty_cache()
    try:
        return model.decode(latents, layout, tiled=True)
    except (torch.OutOfMemoryError, RuntimeError, MemoryError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise PhysPlanError(
            f"The video is sampled but could not be decoded, not even in tiles ({reason}): its latents are in"
            f" {path}; decode them where more memory is free."
        ) from error
