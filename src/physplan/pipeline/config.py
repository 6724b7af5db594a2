"""All settings of a run. Each field says which stage it changes first, or that it changes nothing.

A field made with `decides(stage)` is part of the key of that stage and of all later ones; a field made with
`runtime()` is part of none: where, how fast and how dearly, but not what. Fields of a nested dataclass that
is not of this file belong to the stage of the field that holds them.
"""

# ruff: noqa: RUF009 - decides() and runtime() are dataclasses.field() with a class
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, Literal

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.methods import FRAME_GUIDANCE
from physplan.keyframes.settings import CheckSettings
from physplan.runs.layout import StageName
from physplan.video.fit import FitMode


def decides(stage: StageName, default: Any = MISSING, *, factory: Any = MISSING, later: bool = False) -> Any:
    """`later`: at its default it is in no key, so that runs which were made before it came are still done."""
    return field(default=default, default_factory=factory, metadata={"stage": stage, "later": later})


def runtime(default: Any = MISSING, *, factory: Any = MISSING) -> Any:
    return field(default=default, default_factory=factory, metadata={"stage": None})


@dataclass(frozen=True, kw_only=True)
class Component:
    """A backend by its registered name, and the arguments it is loaded with."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReasonerConfig:
    name: str = decides("plan", "sandbox")
    model: str | None = decides("plan", None)  # None: the reasoner's own
    temperature: float | None = decides("plan", 0.0)  # None leaves it to the server
    max_output_tokens: int = decides("plan", 16_384)
    max_events: int = decides("plan", 7)
    retries: int = decides("plan", 3)
    regenerations: int = decides("plan", 2)
    base_url: str | None = runtime(None)
    prompts: str | None = runtime(None)  # a folder of one's own templates; their content is in Inputs


@dataclass(frozen=True, kw_only=True)
class EditorConfig:
    name: str = decides("keyframes", "sandbox")
    options: Mapping[str, Any] = decides("keyframes", factory=dict)
    seed: int = decides("keyframes", 0)  # of the drawings; another sampling seed keeps them
    redraws: int = decides("keyframes", 2)
    check: CheckSettings = decides("keyframes", factory=CheckSettings)
    base_url: str | None = runtime(None)


@dataclass(frozen=True, kw_only=True)
class PerceptionConfig:
    # Both look at the keyframes while these are checked.
    segmenter: Component = decides("keyframes", factory=lambda: Component(name="sandbox"))
    depth: Component = decides("keyframes", factory=lambda: Component(name="sandbox"))
    encoder: Component = decides("latents", factory=lambda: Component(name="sandbox"))


@dataclass(frozen=True, kw_only=True)
class VideoConfig:
    """None stands for the model's own value."""

    model: str = decides("latents", "sandbox")  # of physplan.video.published, or "sandbox"
    source: str | None = decides("latents", None)  # another folder or hub name than the model's own
    revision: str | None = decides("latents", None)
    dtype: str | None = decides("latents", None)
    height: int | None = decides("plan", None)
    width: int | None = decides("plan", None)
    num_frames: int | None = decides("plan", None)
    fit: FitMode = decides("plan", "crop")  # how a picture of another shape becomes the first frame
    num_inference_steps: int | None = decides("latents", None)
    guidance_scale: float | None = decides("latents", None)
    use_dynamic_cfg: bool | None = decides("latents", None)
    eta: float | None = decides("latents", None)  # of DDIM: the share of fresh noise in each step
    negative_prompt: str = decides("latents", "")
    fps: int | None = decides("latents", None)


@dataclass(frozen=True, kw_only=True)
class RuntimeConfig:
    device: str = runtime("auto")  # "auto": a GPU where there is one
    offload: Literal["none", "model", "group"] = runtime("none")
    tiling: bool = runtime(False)
    slicing: bool = runtime(False)
    checkpointing: bool = runtime(True)
    keep_encoders: bool = runtime(False)
    keep_models: bool = runtime(True)  # False: each is let go after its stage, for memory
    local_files_only: bool = runtime(False)
    budget: float | None = runtime(None)  # USD for all calls of the run
    total_budget: float | None = runtime(None)  # USD for all runs that write into `total_ledger`
    total_ledger: str | None = runtime(None)
    prices: str | None = runtime(None)
    allow_hosts: tuple[str, ...] = runtime(())  # may be sent a key; not from a file, see docs/security.md
    offline: bool = runtime(False)
    timeout: float = runtime(120.0)
    attempts: int = runtime(5)
    at_once: int = runtime(4)
    threads: int | None = runtime(None)  # of torch on the CPU


@dataclass(frozen=True, kw_only=True)
class Config:
    """`preset` names the recipe this began as."""

    preset: str = runtime("sandbox")
    reasoner: ReasonerConfig = field(default_factory=ReasonerConfig)
    editor: EditorConfig = field(default_factory=EditorConfig)
    perception: PerceptionConfig = field(default_factory=PerceptionConfig)
    video: VideoConfig = field(default_factory=VideoConfig)
    guidance: GuidanceConfig = decides("latents", factory=GuidanceConfig)
    frame_guidance: GuidanceConfig = decides("latents", FRAME_GUIDANCE)  # for --method frame_guidance
    runtime: RuntimeConfig = field(default_factory=RuntimeConfig)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What one run is given beside the config. Pictures and plans stand as hashes of their content."""

    image: str = decides("plan")
    prompt: str = decides("plan")
    plan: str | None = decides("plan", None)  # when a plan was given
    prompts: str | None = decides("plan", None, later=True)  # when prompts were given
    keyframes: str | None = decides("keyframes", None)  # when keyframes were given
    seed: int = decides("latents", 0)
    method: str = decides("latents", "physplan")


Source = str | os.PathLike[str] | Mapping[str, Any] | Config
