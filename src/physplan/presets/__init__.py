"""The recipes, one YAML file each, and what each needs of a machine (for `physplan doctor`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from physplan import plugins
from physplan.methods.registry import DEFAULT, find
from physplan.video.known import VIDEO_MODELS

OWN = ("storyboard", "cloud", "home", "desk", "open", "paper", "best")
NAMES = (*plugins.entries("presets"), *OWN)  # packages name the one in which the preset's YAML file lies
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
    """The content of a preset's file."""
    package = plugins.entries("presets").get(name, __package__)
    text = resources.files(package).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


@cache
def stage_memory() -> Mapping[str, Mapping[str, float]]:
    """Of every preset, computed by `python -m physplan_models.stage_memory`."""
    text = resources.files(__package__).joinpath("memory.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def needs(name: str) -> Needs:
    """What the recipe asks for; the weights are those that its parts name."""
    content = recipe(name)
    wanted: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in content["needs"].items()
    }
    samples = find(content.get("method", DEFAULT)).samples
    repo = VIDEO_MODELS.load(content["video"]["model"]).repo if samples else None
    seen = ("segmenter", "depth", *(("encoder",) if samples else ()))
    parts = [content["editor"], *(content["perception"][part] for part in seen)]
    named = [part["options"][key] for part in parts for key in WEIGHTS if key in part.get("options", {})]
    weights = ([repo] if repo else []) + named
    return Needs(about=content["about"], weights=tuple(weights), stages=stage_memory().get(name), **wanted)


class _Presets(Mapping[str, Needs]):
    """Read when asked for: a package's video model is imported to name its weights."""

    def __getitem__(self, name: str) -> Needs:
        if name not in NAMES:
            raise KeyError(name)
        return needs(name)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


PRESETS: Mapping[str, Needs] = _Presets()
