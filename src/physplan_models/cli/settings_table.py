"""`physplan doctor --settings`: every field of a config, its type, range, default and first stage."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import to_plain
from physplan.settings import span

HEAD = """# Settings

Every field that a preset, a config file (`--config mine.yaml`) or `--set FIELD=VALUE` can set, as
`physplan doctor --settings` prints them. "Changes" is the first stage that is redone when the field
changes; `-` changes no result, only where, how fast and at what price. An empty default is None:
nothing, or the model's own value.
A schedule may also be given by three numbers: `{layout_steps: 5, guided_steps: 20, repeats: 10}`.

| field | takes | default | changes | meaning |
|---|---|---|---|---|
"""
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


@dataclass(frozen=True)
class ConfigField:
    name: str  # dotted
    hint: Any
    default: Any
    stage: str | None
    metadata: Mapping[str, Any]

    @property
    def numeric(self) -> bool:
        return _kind(self.hint) in (int, float)


def all_settings(config: Any = None, at: str = "", stage: str | None = None) -> Iterator[ConfigField]:
    """Depth first; a field without a stage of its own has that of the field that holds it."""
    config = Config() if config is None else config
    hints = typing.get_type_hints(type(config))
    for field in dataclasses.fields(config):
        name, value = f"{at}{field.name}", getattr(config, field.name)
        mine = field.metadata.get("stage", stage)
        if dataclasses.is_dataclass(value):
            yield from all_settings(value, f"{name}.", mine)
        else:
            yield ConfigField(name, hints[field.name], value, mine, field.metadata)


def table() -> str:
    rows = []
    for one in all_settings():
        shown = to_plain(one.default)
        default = "" if shown is None else f"`{shown}`"
        cells = (f"`{one.name}`", takes(one), default, one.stage or "-", one.metadata.get("says", ""))
        rows.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n")
    return HEAD + "".join(rows)


def takes(one: ConfigField) -> str:
    kind = _kind(one.hint)
    if choices := one.metadata.get("choices") or _choices(one.hint):
        return ", ".join(choices)
    if get_origin(one.hint) in (tuple, frozenset):
        return "a list" + (
            f" of numbers {span(one.metadata)}" if one.metadata.get("high") is not None else ""
        )
    if kind in (int, float):
        return f"{_WORDS[kind]} {span(one.metadata)}"
    return _WORDS.get(kind, "names and values")


def _kind(hint: Any) -> Any:
    if get_origin(hint) in (types.UnionType, typing.Union):
        return next(kind for kind in get_args(hint) if kind is not type(None))
    return hint


def _choices(hint: Any) -> tuple[str, ...]:
    kind = _kind(hint)
    if get_origin(kind) is Literal:
        return tuple(str(choice) for choice in get_args(kind))
    inner = get_args(kind)[0] if get_origin(kind) is frozenset else None
    return tuple(member.value for member in inner) if inner and issubclass(inner, Enum) else ()
