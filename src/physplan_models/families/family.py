"""What a family of video models says about itself: all that loading and the memory estimate need to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from physplan.video.base import FamilyModel
from physplan.video.gradient_checkpointing import Checkpointing
from physplan_models.encoders import Encoders

META = torch.device("meta")


def _as_it_is(config: dict[str, Any]) -> dict[str, Any]:
    return config


@dataclass(frozen=True, kw_only=True)
class Family:
    """One per file of this package, registered in `families/__init__.py`."""

    name: str
    pipelines: Mapping[
        str, str
    ]  # class that a folder names -> diffusers' image-to-video class to load it with
    scheduler: str  # diffusers' class whose steps have our closed form
    model: Callable[[Any, Any], FamilyModel]  # from a pipeline and what `words` gives
    words: Callable[[Any, Encoders], Any]  # how the pipeline's encoders are asked
    meta_words: Callable[[Any], Any]  # the same on the meta device: only the shape of the answer
    codec_checkpointing: Callable[[Any], Checkpointing] = Checkpointing  # of the autoencoder
    codec_dtype: torch.dtype | None = None  # None: as the rest is loaded
    scheduler_settings: Mapping[str, Any] = field(default_factory=dict)  # of a scheduler without a file
    read_scheduler: Callable[[dict[str, Any]], dict[str, Any]] = _as_it_is  # from another scheduler's file
    settings: tuple[str, ...] = ()  # of the pipeline, in model_index.json
    encoders: tuple[str, ...] = ("tokenizer", "text_encoder")  # components that a meta model goes without
    unused: tuple[str, ...] = ()  # components that are not loaded
    given: Mapping[str, Any] = field(default_factory=dict)  # to the pipeline's class, whatever a folder says
    on_meta: Mapping[str, Any] = field(default_factory=dict)  # stand-ins of a meta model
    notes: tuple[str, ...] = ()  # what whoever reads a result should know
    makes_videos: Callable[[Mapping[str, Any]], bool] = lambda index: True  # from a picture: not all may
