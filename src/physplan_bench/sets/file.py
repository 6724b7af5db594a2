"""The file of a set, read and checked before anything is made.

    presets: [open]                     # or config files; by default sandbox
    methods: [base, guided_sketch, best_of_n@guided_sketch]
    seeds: [0, 1]
    budget: 20                          # USD, of all together
    benchmarks:
      physics-iq: {real: bench/, descriptions: descriptions.csv}
      phyground: {data: phyground/, judge: gemini:MODEL}
      sandbox: {scenes: 25}

`best_of_n@METHOD` takes as many videos as fit into METHOD's time. Options of a benchmark are those of its
command. The file may come from somebody else: what only a person may allow is refused in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from physplan.calls.addresses import check_url, is_loopback
from physplan.errors import PhysPlanError
from physplan.foreign import read_file
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config, read_assignments
from physplan.pipeline.consent import refuse_consent
from physplan.registry import did_you_mean

GENERATED = {"physics-iq": "--generated", "phyground": "--videos", "phygenbench": "--videos"}
OWN = ("sandbox",)  # has methods and seeds of its own, no preset and no videos to give
EVERYWHERE = ("set", "retries", "case-seconds")
MADE = (*EVERYWHERE, "events", "size", "fit", "fps")
# What a file may set of a benchmark's command, by whole names: methods, seeds, folders, money are the set's.
OPTIONS = {
    "physics-iq": (
        *(*MADE, "real", "descriptions", "protocol", "exact", "switch-frames", "prompts", "template"),
        "split",
    ),
    "phyground": (*MADE, "data", "judge", "template", "frames"),
    "phygenbench": (
        *(*MADE, "data", "first-frames", "image-model", "closed", "open", "open-choice", "clip", "vqa"),
        "official-quirks",
    ),
    "sandbox": (*EVERYWHERE, "quick", "scenes", "split", "first", "subset", "levels"),
}
MODELS = ("judge", "image-model", "closed", "open", "open-choice")  # MODEL@URL of a server, with a key
FIELDS = {"presets", "methods", "seeds", "budget", "benchmarks"}
MAX_VALUES = 1_000  # bytes of a file are limited too


@dataclass(frozen=True, kw_only=True)
class SetFile:
    benchmarks: Mapping[str, Mapping[str, Any]]
    methods: tuple[str, ...]
    presets: tuple[str, ...] = ("sandbox",)
    seeds: tuple[int, ...] = (0,)
    budget: float | None = None


def read_set(path: Path) -> SetFile:
    try:
        content = yaml.safe_load(read_file(path, limit=1_000_000))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PhysPlanError(f"{path} cannot be read as a set ({error}): give a YAML file.") from None
    if not isinstance(content, dict) or not isinstance(content.get("benchmarks"), dict):
        raise PhysPlanError(f"{path} names no benchmarks: it holds benchmarks, methods, presets and seeds.")
    if unknown := set(content) - FIELDS:
        raise PhysPlanError(f"{path} has the field {min(map(str, unknown))!r}: {', '.join(sorted(FIELDS))}.")
    budget = content.get("budget")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int | float)):
        raise PhysPlanError(f"{path}: the budget is {budget!r}, not a number of USD.")
    found = SetFile(
        benchmarks={str(name): options or {} for name, options in content["benchmarks"].items()},
        methods=_texts(content.get("methods"), f"{path}: methods"),
        presets=_texts(content.get("presets", ["sandbox"]), f"{path}: presets"),
        seeds=_seeds(content.get("seeds", [0]), path),
        budget=budget,
    )
    for name, options in found.benchmarks.items():
        _check_benchmark(f"{path}: {name}", name, options)
    for preset in found.presets:
        if ":" in preset:
            raise PhysPlanError(f"{path}: {preset!r} would run code: presets and config files only.")
    for method in found.methods:
        whole = method.partition("@")[2]
        if whole and (not method.startswith("best_of_n@") or {whole, "base"} - set(found.methods)):
            raise PhysPlanError(
                f"{path}: {method!r} is not best_of_n@METHOD with both METHOD and base among the methods."
            )
    return found


def _check_benchmark(where: str, name: str, options: Any) -> None:
    if name not in OPTIONS:
        raise PhysPlanError(f"{where} makes no videos: a set takes {', '.join(OPTIONS)}.")
    if not isinstance(options, dict):
        raise PhysPlanError(f"{where}: give its options as OPTION: VALUE.")
    for option, value in options.items():
        if option not in OPTIONS[name]:
            close = did_you_mean(str(option), OPTIONS[name])
            raise PhysPlanError(f"{where}: a set does not choose {str(option)[:80]!r}. {close}")
        texts = [str(text) for text in (value if isinstance(value, list) else [value])]
        for text in texts:
            _check_value(f"{where}: {option}", text, server=option in MODELS)
        if option == "set":
            refuse_consent(Config(), load_config(Config(), read_assignments(texts)), f"{where}: {option}")


def _check_value(where: str, text: str, *, server: bool) -> None:
    """A file cannot say yes to a host in a person's name, nor bring a second option in a value."""
    if text.startswith("-"):
        raise PhysPlanError(f"{where}: {text[:80]!r} is an option, not a value.")
    url = text.partition("@")[2] if server else ""
    if url and not is_loopback(host := check_url(url)):
        raise PhysPlanError(
            f"{where}: {host} is not this machine, and a key may not be sent where a file says: run that "
            "benchmark by its own command."
        )


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if (
        not isinstance(value, list)
        or not 0 < len(value) <= MAX_VALUES
        or len({*map(str, value)}) < len(value)
    ):
        raise PhysPlanError(f"{where}: give a list of different names.")
    if odd := [one for one in map(str, value) if one.startswith("-")]:
        raise PhysPlanError(f"{where}: {odd[0][:80]!r} is an option, not a name.")
    return tuple(map(str, value))


def _seeds(value: Any, path: Path) -> tuple[int, ...]:
    good = isinstance(value, Sequence) and value and len(value) <= MAX_VALUES
    if not good or any(isinstance(one, bool) or not isinstance(one, int) or one < 0 for one in value):
        raise PhysPlanError(f"{path}: seeds are a list of whole numbers from 0 on.")
    return tuple(dict.fromkeys(value))
