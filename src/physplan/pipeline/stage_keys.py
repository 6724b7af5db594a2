"""Which settings decide a stage: the key under which its artefact is kept."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from physplan.guidance.config import GuidanceConfig
from physplan.methods import find
from physplan.methods.records import NEW_FIELD, former_settings, recorded_method
from physplan.pipeline.config import Config, Inputs
from physplan.pipeline.config_loading import to_plain
from physplan.runs.layout import STAGES, StageName
from physplan.settings import retired


def setting_stages(settings: Any, at: str = "") -> Iterator[tuple[str, StageName | None, Any]]:
    """(dotted name, stage or None for runtime, value) of every field, down to the ones with a class."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        name = f"{at}{field.name}"
        if "stage" in field.metadata:
            yield name, field.metadata["stage"], value
        elif dataclasses.is_dataclass(value):
            yield from setting_stages(value, f"{name}.")
        else:
            raise TypeError(f"{name} is neither identity nor runtime: make it with decides() or runtime()")


def deciding_settings(config: Config, inputs: Inputs, upto: StageName = STAGES[-1]) -> dict[str, Any]:
    """Every field that decides the artefacts up to a stage, as JSON."""
    last = STAGES.index(upto)
    return {
        name: value
        for settings in (config, inputs)
        for name, stage, value in identity(settings)
        if STAGES.index(stage) <= last
    }


def identity(settings: Any) -> Iterator[tuple[str, StageName, Any]]:
    """(dotted name, stage, value as JSON) of the fields that decide; those that came later and are at their
    default are left out, so that what was made before they came is still what it was."""
    came_later = set(_later(settings))
    for name, stage, value in setting_stages(settings):
        if stage is not None and name not in came_later:
            yield name, stage, _without_later(value)


def _later(settings: Any, at: str = "") -> Iterator[str]:
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if _is_unset(field, value):
            yield f"{at}{field.name}"
        elif dataclasses.is_dataclass(value) and "stage" not in field.metadata:
            yield from _later(value, f"{at}{field.name}.")


def _without_later(value: Any) -> Any:
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return to_plain(value)
    return dict(retired(value, keyed=True)) | {
        field.name: _without_later(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if not _is_unset(field, getattr(value, field.name))
    }


def _is_unset(field: dataclasses.Field[Any], value: Any) -> bool:
    """Whether a field came later and is at its default."""
    made = field.default_factory
    return bool(field.metadata.get("later")) and value == (
        field.default if made is dataclasses.MISSING else made()
    )


def stage_key(config: Config, inputs: Inputs, stage: StageName, made_from: Mapping[str, str]) -> str:
    """A hash of the settings up to a stage and of the files it is made from."""
    return digest(
        {"stage": stage, "settings": deciding_settings(config, inputs, stage), "made_from": dict(made_from)}
    )


def former_keys(
    config: Config,
    inputs: Inputs,
    stage: StageName,
    made_from: Mapping[str, str],
    recorded: Mapping[str, Any] | None = None,
) -> set[str]:
    """The keys under which version 0.1 kept what this stage would make now.

    `recorded` is the identity in a folder's run.json: one of 0.1 whose method takes no terms counts with the
    guidance it names, whatever a preset says of guidance today.
    """
    settings = deciding_settings(config, inputs, stage)
    former = list(_former(settings, inputs))
    if recorded is not None and NEW_FIELD not in recorded and not _takes_terms(inputs):
        former.append({name: recorded[name] for name in settings if name in recorded})
    return {digest({"stage": stage, "settings": one, "made_from": dict(made_from)}) for one in former}


def recorded_in_todays_words(recorded: Mapping[str, Any], config: Config, inputs: Inputs) -> dict[str, Any]:
    """The settings of a run folder; those of version 0.1 in today's words."""
    if NEW_FIELD in recorded:
        return dict(recorded)
    now = deciding_settings(config, inputs)
    changed = ("guidance", "method")
    if not _takes_terms(inputs) and recorded.get("method") == inputs.method:
        return {**recorded, **{name: now[name] for name in ("guidance", NEW_FIELD)}}
    for former in _former(now, inputs):
        if all(recorded.get(name) == former[name] for name in changed):
            return {**recorded, **{name: now[name] for name in (*changed, NEW_FIELD)}}
    return {**recorded, "method": recorded_method(str(recorded.get("method")), recorded)}


def _takes_terms(inputs: Inputs) -> bool:
    """Whether the method reads one of the two blocks that were one block in version 0.1."""
    return find(inputs.method).settings in ("guidance", NEW_FIELD)


def _former(settings: Mapping[str, Any], inputs: Inputs) -> Iterator[dict[str, Any]]:
    return former_settings(settings, find(inputs.method).settings, _without_later(GuidanceConfig()))


def digest(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The fields in which two runs differ, in words."""
    return [
        f"{name} {_short(before.get(name))}, not {_short(now.get(name))}"
        for name in dict.fromkeys((*before, *now))
        if before.get(name) != now.get(name)
    ]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
