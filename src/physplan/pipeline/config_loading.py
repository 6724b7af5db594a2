"""Configs from presets, YAML and TOML: any field can be set; a wrong name is answered with the right one."""

from __future__ import annotations

import dataclasses
import math
import re
import reprlib
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import yaml

from physplan import presets
from physplan.errors import PhysPlanError
from physplan.foreign import read_file
from physplan.guidance.schedule import MAX_STEPS, Schedule
from physplan.methods.records import recorded_method
from physplan.pipeline.config import Config, Source
from physplan.pipeline.consent import refuse_consent
from physplan.registry import did_you_mean
from physplan.settings import DEFAULT_PRESET, problem, retired

T = TypeVar("T")
_NOT_SETTINGS = ("about", "needs")
MAX_FILE, MAX_VALUES = 1_000_000, 10_000  # bytes of a config file; values that it stands for
OLD_NAMES = {"draws": "noise_order"}  # of settings in files and run folders of before


class ConfigError(PhysPlanError):
    """A config that cannot be used."""


def load_config(source: Source, overrides: Mapping[str, Any] | None = None) -> Config:
    """A preset's name, a file, a mapping or a `Config`; `overrides` maps dotted names to values."""
    if isinstance(source, Config):
        config = source
    elif isinstance(source, Mapping):
        config = _from_mapping(source, "the config")
    elif str(source) in presets.NAMES:
        config = _preset(str(source))
    elif Path(source).suffix in (".yaml", ".yml", ".toml"):
        config = _from_mapping(_read_file(Path(source)), str(source))
        refuse_consent(Config(), config, str(source))
    else:
        raise ConfigError(
            f"There is no preset {str(source)!r}. {did_you_mean(str(source), presets.NAMES)} "
            "A config file ends in .yaml or .toml."
        )
    return override_all(config, overrides) if overrides else config


def override_all(config: Config, changes: Mapping[str, Any]) -> Config:
    """The config with fields such as "video.num_frames" changed, all at once: their order does not matter."""
    nested: dict[str, Any] = {}
    for name, value in changes.items():
        if name == "guidance.start":
            raise ConfigError(
                "guidance.start is no setting any more: --method guided_sketch starts from the sketch."
            )
        one: Any = value
        for part in reversed(name.split(".")):
            one = {part: one}
        nested = _merged(nested, one)
    return read(Config, nested, base=config, at="")


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both, mapping by mapping; where both have a value, the other's."""
    both = {
        key: _merged(one[key], other[key])
        for key in one.keys() & other.keys()
        if isinstance(one[key], Mapping) and isinstance(other[key], Mapping)
    }
    return {**one, **other, **both}


class _Loader(yaml.SafeLoader):
    """YAML 1.2's numbers: 1e-8 is one, which YAML 1.1 reads as text."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)[eE][-+]?\d+$"), list("-+.0123456789")
)


def read_yaml(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)  # a safe loader


def read_assignments(entries: Sequence[str]) -> dict[str, Any]:
    """`FIELD=VALUE` of the command line's --set, values as YAML has them."""
    found: dict[str, Any] = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set takes FIELD=VALUE, such as video.fps=16, not {_shown(entry)}.")
        try:
            found[name.strip()] = _require_small(read_yaml(value))
        except (yaml.YAMLError, ValueError, RecursionError):
            raise ConfigError(f"--set {_shown(name)}: {_shown(value)} cannot be read as a value.") from None
    return found


def _preset(name: str) -> Config:
    settings = {key: value for key, value in presets.recipe(name).items() if key not in _NOT_SETTINGS}
    config = read(Config, settings, base=Config(preset=name), at="")
    return refuse_consent(Config(), config, f"The preset {name}")  # an installed package may bring one


def _from_mapping(mapping: Mapping[str, Any], where: str) -> Config:
    rest = dict(mapping)
    base = str(rest.pop("preset", DEFAULT_PRESET))
    if base not in presets.NAMES:
        raise ConfigError(f"{where}: there is no preset {base!r}. {did_you_mean(base, presets.NAMES)}")
    try:
        return read(Config, rest, base=_preset(base), at="")
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _read_file(path: Path) -> Mapping[str, Any]:
    try:
        text = read_file(path, limit=MAX_FILE).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"The config {path} cannot be read: check the path.") from None
    kind = "TOML" if path.suffix == ".toml" else "YAML"
    try:
        content = _require_small(tomllib.loads(text) if kind == "TOML" else read_yaml(text))
    except (tomllib.TOMLDecodeError, yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path} is not valid {kind} ({' '.join(str(error).split())[:300]}).") from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply: write settings as the presets do.") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path} holds no settings: write lines such as `preset: paper`.")
    return content


def _require_small(content: Any) -> Any:
    """A few lines of YAML can stand for billions of values, or for a list that holds itself."""
    left, queue = MAX_VALUES, [content]
    while queue:
        value = queue.pop()
        queue += list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
        left -= 1
        if left < len(queue):
            raise ValueError(f"it stands for more than {MAX_VALUES} values")
    return content


def read(kind: type[T], value: Any, *, base: T | None = None, at: str) -> T:
    """A dataclass from a mapping; what the mapping leaves out is as in `base`."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{at} takes settings of its own, not {_shown(value)}.")
    if kind is Config:
        value = _in_todays_words(value, base)
    if kind is Schedule and not isinstance(value.get("repeats", 0), list | tuple):
        return _linear(value, at)  # type: ignore[return-value]
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    changes = {}
    for name, entry in value.items():
        here = f"{at}.{name}" if at else str(name)
        name = str(name) if name in fields else OLD_NAMES.get(str(name), str(name))
        if name in retired(kind):
            _refuse_retired(kind, name, entry, here)
            continue
        if name not in fields:
            raise ConfigError(f"There is no setting {here}. {did_you_mean(str(name), fields)}")
        changes[name] = _read_value(hints[name], entry, getattr(base, name, None), here)
        if wrong := problem(changes[name], fields[name].metadata):
            raise ConfigError(f"{here} is {_shown(entry)}: {wrong}.")
    try:
        return dataclasses.replace(base, **changes) if base is not None else kind(**changes)  # type: ignore[type-var]
    except TypeError:
        needed = [name for name, f in fields.items() if f.default is f.default_factory is dataclasses.MISSING]
        raise ConfigError(f"{at} needs {' and '.join(needed)}.") from None


def _refuse_retired(kind: Any, name: str, value: Any, at: str) -> None:
    """A setting that is gone may be named with the value that is now the only one."""
    if value != (only := retired(kind)[name]):
        raise ConfigError(
            f"{at} is no setting any more, and {_shown(value)} is not what is done: it is {only}."
        )


def _in_todays_words(value: Mapping[str, Any], base: Any) -> Mapping[str, Any]:
    """Settings of version 0.1: guidance that starts from the sketch is the method guided_sketch."""
    guidance = value.get("guidance")
    if not isinstance(guidance, Mapping) or guidance.get("start") != "sketch":
        return value
    rest = {name: entry for name, entry in value.items() if name not in ("guidance", "method")}
    method = recorded_method(str(value.get("method", getattr(base, "method", ""))), value)
    return {**rest, "guided_sketch": guidance, "method": method}


def _linear(value: Mapping[str, Any], at: str) -> Schedule:
    """Algorithm 1's schedule by its three numbers."""
    known = ("layout_steps", "guided_steps", "repeats")
    for name, number in value.items():
        if name not in known:
            raise ConfigError(f"There is no setting {at}.{name}. {did_you_mean(str(name), known)}")
        if not isinstance(number, int) or isinstance(number, bool):
            raise ConfigError(f"{at}.{name} is {_shown(number)}, but must be a whole number.")
        if not 0 <= number <= MAX_STEPS:
            raise ConfigError(f"{at}.{name} is {_shown(number)}: give a whole number from 0 to {MAX_STEPS}.")
    return Schedule.linear(**value)


def _read_value(hint: Any, value: Any, base: Any, at: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in inner:
            return None
        return _read_value(next(kind for kind in inner if kind is not type(None)), value, base, at)
    if origin is Literal:
        if value not in inner:
            raise ConfigError(f"{at} is {_shown(value)}. {did_you_mean(str(value), [str(v) for v in inner])}")
        return value
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if (
            hasattr(base, "options")
            and isinstance(value, Mapping)
            and value.get("name", base.name) != base.name
        ):
            base = dataclasses.replace(base, options={})  # another backend takes other options
        return read(hint, value, base=base, at=at)
    if origin in (tuple, frozenset):
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{at} is {_shown(value)}, but must be a list.")
        kinds = inner if origin is tuple and Ellipsis not in inner else (inner[0],) * len(value)
        if len(kinds) != len(value):
            raise ConfigError(f"{at} must have {len(kinds)} entries, not {len(value)}.")
        return origin(
            _read_value(k, v, None, f"{at}[{i}]") for i, (k, v) in enumerate(zip(kinds, value, strict=True))
        )
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{at} is {_shown(value)}, but must be a mapping of names to values.")
        return {**(base or {}), **value}
    if isinstance(hint, type) and issubclass(hint, Enum):
        values = [member.value for member in hint]
        if value not in values:
            raise ConfigError(f"{at} is {_shown(value)}. {did_you_mean(str(value), values)}")
        return hint(value)
    return _read_plain(hint, value, at)


_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _read_plain(hint: Any, value: Any, at: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 2**1000 else math.inf
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{at} is {_shown(value)}, but must be {_WORDS.get(hint, hint)}.")
    return value


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100


def _shown(value: Any) -> str:
    """A value in a sentence, however long it is."""
    if isinstance(value, int) and abs(value) > 10**40:
        return "a number of very many digits"
    text = " ".join(_SHORT.repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def to_plain(value: Any) -> Any:
    """A config as YAML and JSON hold it; `load_config` reads it back."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(entry) for key, entry in value.items()}
    if isinstance(value, frozenset):
        return sorted(to_plain(entry) for entry in value)
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    return value.value if isinstance(value, Enum) else value
