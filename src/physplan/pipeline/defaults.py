"""A config with the model's own values filled in, so that what is recorded is what was done."""

from __future__ import annotations

from dataclasses import replace

from physplan import machine
from physplan.errors import PhysPlanError
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import read, to_plain
from physplan.video.known import video_model


def with_defaults(config: Config) -> Config:
    """All of `config.video` but source and revision has a value; "auto" is a device."""
    own = video_model(str(config.video.model)).values
    missing = {name: value for name, value in own.items() if getattr(config.video, name) is None}
    if config.video.source is not None:  # a model from elsewhere has no commit of ours
        missing.pop("revision", None)
    device = config.runtime.device
    if device == "auto":
        device = "cuda" if machine.gpus() else "cpu"
    complete = replace(
        config, video=replace(config.video, **missing), runtime=replace(config.runtime, device=device)
    )
    # Read like a file, so that what was put together in Python is checked as well.
    return read(Config, to_plain(complete), base=complete, at="")


def check_device(device: str) -> None:
    """Whether this machine has it; a dry run of a config for another machine does not ask."""
    if not device.startswith("cuda"):
        return
    found = len(machine.gpus())
    number = int(device.partition(":")[2] or 0)
    if not found:
        raise PhysPlanError("There is no CUDA device here: use --device cpu, or a machine with a GPU.")
    if number >= found:
        raise PhysPlanError(f"There is no {device} here: this machine has {found}, counted from cuda:0.")
