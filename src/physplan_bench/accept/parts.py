"""Stage 1, the other weights: what looks at pictures, and the editor; whether they are here and whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from physplan import machine
from physplan.pipeline.config_loading import load_config
from physplan.presets import PRESETS, WEIGHTS
from physplan_bench.accept.context import Acceptance
from physplan_bench.accept.findings import Finding, Level
from physplan_bench.accept.weights import whole


def look_at_parts(here: Acceptance) -> Iterator[Finding]:
    seen, preset = here.config.perception, here.config.preset
    own_segmenter = preset in PRESETS and load_config(preset).perception.segmenter.name == seen.segmenter.name
    for lacking in machine.own_weights(preset) if own_segmenter else ():
        yield Finding(name=f"weights {lacking.what}", level="failure", meaning=f"not here: {lacking.fix}")
    named = (("segmenter", seen.segmenter), ("depth", seen.depth), ("encoder", seen.encoder))
    for what, part in named:
        yield from _of_part(what, part.options, preset)
    yield from _of_part("editor", here.config.editor.options, preset)


def _of_part(what: str, options: Mapping[str, Any], preset: str) -> Iterator[Finding]:
    for key in (key for key in WEIGHTS if key in options):
        name = f"the {what}" if key == "source" else f"the {what}, {key}"
        found = folders(str(options[key]))
        if not found:
            level: Level = "warning" if what == "editor" else "failure"
            lost = "no keyframe can be drawn here" if what == "editor" else "stages 3 to 5 need them"
            meaning = f"not here, {lost}: physplan models get {preset}"
            yield Finding(name=f"weights of {name}", level=level, meaning=meaning)
        for folder in found:
            yield from whole(folder, f"weight files of {name} are whole")


def folders(name: str) -> list[Path]:
    """A folder of one's own, or the hub's snapshots of that name that hold weights."""
    own = Path(name).expanduser()
    if own.is_dir():
        return [own]
    snapshots = machine.weights_folder() / f"models--{name.replace('/', '--')}" / "snapshots"
    return sorted({path.parent for path in snapshots.glob("*/*.safetensors")}) or sorted(
        {path.parents[1] for path in snapshots.glob("*/*/*.safetensors")}
    )
