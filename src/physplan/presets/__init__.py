"""The recipes, one YAML file each, and what each needs of a machine (for `physplan doctor`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

NAMES = ("sandbox", "storyboard", "home", "desk", "open", "paper", "best")
# Options of a component that name weights on the hub.
WEIGHTS = ("source", "detector", "sam")


@dataclass(frozen=True, kw_only=True)
class Needs:
    """`keys`: alternatives, one of which must be set; `instead`: what serves without one, in a config of
    one's own; `extras`: extra -> the module it brings."""

    about: str
    keys: tuple[str, ...] = ()
    instead: str = ""
    server: tuple[str, str] | None = None  # environment variable, default address
    extras: Mapping[str, str] | None = None
    weights: tuple[str, ...] = ()  # names on the Hugging Face hub
    embedded: tuple[str, ...] = ()  # folders of weights that come with the package
    memory_gb: float = 2.0  # of the machine
    server_memory_gb: float = 0.0  # of the server's own model, where it may share the card
    stages: Mapping[str, float] | None = None  # GB on the GPU, stage by stage

    @property
    def gpu_memory_gb(self) -> float:
        """The one figure of the preset: its largest stage; 0: a CPU is enough."""
        return max((self.stages or {}).values(), default=0.0)


@cache
def recipe(name: str) -> Mapping[str, Any]:
    """The file of a preset, as it is."""
    text = resources.files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


@cache
def stage_memory() -> Mapping[str, Mapping[str, float]]:
    """Of every preset, computed by `python -m physplan.pipeline.stage_memory`."""
    text = resources.files(__package__).joinpath("memory.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def needs(name: str) -> Needs:
    """What the recipe asks for; the weights are those that its parts name."""
    from physplan.video.published import PUBLISHED

    content = recipe(name)
    wanted: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in content["needs"].items()
    }
    samples = content.get("method") != "storyboard"
    video = PUBLISHED.get(content["video"]["model"]) if samples else None
    seen = ("segmenter", "depth", *(("encoder",) if samples else ()))
    parts = [content["editor"], *(content["perception"][part] for part in seen)]
    named = [part["options"][key] for part in parts for key in WEIGHTS if key in part.get("options", {})]
    weights = ([video.repo] if video else []) + named
    return Needs(about=content["about"], weights=tuple(weights), stages=stage_memory().get(name), **wanted)


PRESETS: Mapping[str, Needs] = {name: needs(name) for name in NAMES}
