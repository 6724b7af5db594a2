"""A config with the model's own values filled in, so that what is recorded is what was done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from physplan.errors import PhysPlanError
from physplan.pipeline.config import Config, VideoConfig
from physplan.registry import did_you_mean
from physplan.video.published import PUBLISHED

SANDBOX = {
    "height": 96,
    "width": 96,
    "num_frames": 33,
    "fps": 8,
    "num_inference_steps": 20,
    "guidance_scale": 1.0,
    "use_dynamic_cfg": False,
    "eta": 1.0,
    "dtype": "fp32",
}


def with_defaults(config: Config) -> Config:
    """All of `config.video` but source and revision has a value; "auto" is a device."""
    device = config.runtime.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise PhysPlanError("There is no CUDA device here: use --device cpu, or a machine with a GPU.")
    own = own_values(config.video.model)
    missing = {name: value for name, value in own.items() if getattr(config.video, name) is None}
    if config.video.source is not None:  # a model from elsewhere has no commit of ours
        missing.pop("revision", None)
    video = replace(config.video, **missing)
    _check(video)
    return replace(config, video=video, runtime=replace(config.runtime, device=device))


def own_values(model: str) -> dict[str, Any]:
    if model == "sandbox":
        return dict(SANDBOX)
    if model not in PUBLISHED:
        known = ("sandbox", *PUBLISHED)
        raise PhysPlanError(
            f"There is no video model called {model!r}. {did_you_mean(model, known)} "
            "A model in a folder of yours goes into video.source, with video.model as its kind."
        )
    preset = PUBLISHED[model]
    names = ("revision", "height", "width", "num_frames", "fps", "num_inference_steps", "guidance_scale")
    return {name: getattr(preset, name) for name in (*names, "use_dynamic_cfg", "eta", "dtype")}


def _check(video: VideoConfig) -> None:
    for name in ("height", "width", "num_frames", "num_inference_steps", "fps"):
        if not 1 <= getattr(video, name) <= 100_000:
            raise PhysPlanError(f"video.{name} is {getattr(video, name)}: give a number above 0.")
