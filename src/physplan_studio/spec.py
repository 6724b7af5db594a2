"""What a page may ask for: a picture, a sentence, a recipe, a plan. Every field is checked here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from physplan import presets
from physplan.errors import PhysPlanError
from physplan.methods import find
from physplan.registry import did_you_mean
from physplan.settings import DEFAULT_PRESET
from physplan_studio.web.server import Refused

Upto = Literal["plan", "sketch", "video"]
# Settings that a page may change. None of them is a path or an address.
SETTINGS = {
    "video.num_inference_steps": "Steps",
    "video.num_frames": "Frames",
    "video.fps": "Frames per second",
    "video.guidance_scale": "Guidance scale",
    "guidance.step_size": "Strength of the guidance",
    "guidance.schedule": "Guided steps",
    "editor.redraws": "Redraws of a keyframe",
    "editor.seed": "Seed of the keyframes",
    "reasoner.max_events": "Most events",
    "runtime.budget": "Budget in USD",
}
QUICK: Mapping[str, Any] = {
    "video.num_inference_steps": 8,
    "guidance.schedule": {"layout_steps": 2, "guided_steps": 4, "repeats": 2},
}
SIZE = ("video.width", "video.height")  # of requests to the server: physplan_studio.serving
MAX_PROMPT = 2_000
PICTURE = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One run as a page asks for it. `picture` and `keyframes` name pictures of the studio's store."""

    picture: str
    prompt: str
    preset: str = DEFAULT_PRESET
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    method: str = ""  # the preset's
    attempts: int = 1
    plan: Mapping[str, Any] | None = None
    keyframes: tuple[str, ...] | None = None
    upto: Upto = "video"
    like: str = ""  # the run whose config.yaml is the recipe, in place of the preset
    objects: tuple[str, ...] = ()  # of a photograph: `cup@233,190`, in pixels of the frame
    recipe: str = ""  # the settings of a video that was dropped, in place of the preset

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> Spec:
        """A job's file as the studio wrote it."""
        if not isinstance(value, dict):
            raise Refused("A job is a JSON object.")
        return read_spec(value)


def read_spec(given: Mapping[str, Any]) -> Spec:
    """A request's fields. What the pipeline checks (prompt, plan, method) is left to it."""
    keyframes = given.get("keyframes")
    plan = given.get("plan")
    if plan is not None and not isinstance(plan, dict):
        raise Refused("A plan is a JSON object.")
    if keyframes is not None and not isinstance(keyframes, list):
        raise Refused("Keyframes are a list of pictures.")
    upto = given.get("upto", "video")
    if upto not in get_args(Upto):
        raise Refused("A run goes up to its plan, sketch or video.")
    return Spec(
        picture=picture_id(given.get("picture")),
        prompt=_text(given, "prompt", MAX_PROMPT),
        preset=_preset(given.get("preset", DEFAULT_PRESET)),
        settings=_settings(given.get("settings", {})),
        seed=_whole(given, "seed", 0),
        method=_text(given, "method", 40),
        attempts=_whole(given, "attempts", 1),
        plan=plan,
        keyframes=None if keyframes is None else tuple(picture_id(one) for one in keyframes),
        upto=upto,
        like=_text(given, "like", 1_000),
        objects=_objects(given.get("objects")),
        recipe=picture_id(given["recipe"]) if given.get("recipe") else "",
    )


def settings_of(spec: Spec) -> dict[str, Any]:
    """The page's settings for a worker: `guidance.` is the guidance of the spec's own method."""
    field = find(spec.method).settings if spec.method else None
    return {
        f"{field or 'guidance'}.{name.removeprefix('guidance.')}"
        if name.startswith("guidance.")
        else name: value
        for name, value in spec.settings.items()
    }


def _objects(value: object) -> tuple[str, ...]:
    from physplan_studio.photo import read_objects

    return read_objects(list(value)) if isinstance(value, list | tuple) and value else ()


def picture_id(value: object) -> str:
    if not isinstance(value, str) or not PICTURE.fullmatch(value):
        raise Refused("Choose a picture first: a sample, or a file of yours.")
    return value


def _preset(value: object) -> str:
    if value not in presets.NAMES:
        raise PhysPlanError(
            f"There is no preset {str(value)[:40]!r}. {did_you_mean(str(value), presets.NAMES)}"
        )
    return str(value)


def _settings(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused("Settings are a JSON object.")
    for name, entry in value.items():
        if name not in SETTINGS and name not in SIZE:
            raise PhysPlanError(f"The page cannot set {str(name)[:80]!r}: use a config file for that.")
        plain = entry.values() if isinstance(entry, dict) and name == "guidance.schedule" else [entry]
        if any(isinstance(one, bool) or not isinstance(one, int | float) for one in plain):
            raise PhysPlanError(f"{SETTINGS.get(name, name)}: give a number.")
    return dict(value)


def _text(given: Mapping[str, Any], name: str, most: int, default: str = "") -> str:
    value = given.get(name, default)
    if not isinstance(value, str):
        raise Refused(f"The {name} is a text.")
    if len(value) > most:
        raise PhysPlanError(f"The {name} has {len(value)} letters: write at most {most}.")
    return value


def _whole(given: Mapping[str, Any], name: str, default: int) -> int:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise PhysPlanError(f"The {name} is a whole number.")
    return value
