"""The benchmark's prompts: original (`op`), best practice (`bpp`), or best practice in a model's own wording.

A template orders the parts of a scene, such as "{action}, {setup} {scene}, {camera} {style} {only}". They
come from the benchmark's `data.yaml`; camera, style and the closing sentence are those that every prompt of
`descriptions_base.csv` begins with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import yaml

from physplan.errors import PhysPlanError
from physplan_bench.physics_iq.dataset import Scene, read_descriptions

Prompts = Literal["op", "bpp"]
FILES: Mapping[str, str] = {"op": "descriptions_original.csv", "bpp": "best_practice/descriptions_base.csv"}
SHARED = ("camera", "style", "only")  # the sentences that all best-practice prompts share, in this order
PARTS = (*SHARED, "setup", "scene", "action")


def descriptions_file(given: Path, prompts: Prompts | None) -> Path:
    """The given CSV file, or the one for these prompts in the benchmark's `descriptions` folder."""
    if given.is_file():
        if prompts is not None and given.name != Path(FILES[prompts]).name:
            raise PhysPlanError(
                f"--prompts {prompts} are in {Path(FILES[prompts]).name}, and --descriptions is "
                f"{given.name}: give the benchmark's descriptions folder, or that file."
            )
        return given
    for folder in (given, given / "descriptions"):
        if (path := folder / FILES[prompts or "op"]).is_file():
            return path
    raise PhysPlanError(
        f"{given} holds no {FILES[prompts or 'op']}: give the benchmark's descriptions folder."
    )


def templated(folder: Path, template: str) -> list[Scene]:
    """The best-practice scenes with prompts in the order and with the punctuation of `template`."""
    base = descriptions_file(folder, "bpp")
    scenes = read_descriptions(base)
    shared = shared_sentences(scene.description for scene in scenes)
    parts = _read_parts(base.parents[1] / "data.yaml")
    return [replace(scene, description=fill(template, {**shared, **_of(parts, scene)})) for scene in scenes]


def shared_sentences(descriptions: Iterable[str]) -> dict[str, str]:
    """Camera, style and closing sentence: the three sentences with which all prompts begin."""
    begins = {tuple(re.findall(r"[^.]+\.(?=\s|$)", text)[: len(SHARED)]) for text in descriptions}
    if len(begins) != 1 or len(first := begins.pop()) < len(SHARED):
        raise PhysPlanError("These are no best-practice prompts: they do not begin with the same sentences.")
    return dict(zip(SHARED, (text.strip() for text in first), strict=True))


def fill(template: str, parts: Mapping[str, str]) -> str:
    """The template with its parts; what is empty takes its separators with it."""
    unknown = sorted(set(re.findall(r"{(\w+)}", template)) - set(PARTS))
    if unknown:
        raise PhysPlanError(f"The template names {', '.join(unknown)}: its parts are {', '.join(PARTS)}.")
    if "{action}" not in template:
        raise PhysPlanError("The template lacks {action}, what happens in the scene.")
    text = template.replace("\\n", "\n")
    for name in (name for name in PARTS if not parts.get(name)):
        text = re.sub(rf"[ \t]*{{{name}}}(?=[,\n]|$)|{{{name}}}[ \t]*", "", text)
    text = re.sub(r"{(\w+)}", lambda match: parts[match[1]], text)
    return re.sub(r"(, *)+(?=,)|^[, ]+|[, ]+$", "", text)


def _read_parts(path: Path) -> dict[str, dict[str, str]]:
    try:
        scenes: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["scenes"]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise PhysPlanError(f"{path} cannot be read as the benchmark's data.yaml ({error}).") from error
    return {
        f"trimmed-{scene['scene']}": {
            "setup": scene.get("pre-action-scene-description") or "",
            "scene": scene.get("scene-description") or "",
            "action": " ".join(
                filter(None, (scene.get("subject-action"), scene.get("subject-action-postfix")))
            ),
        }
        for scene in scenes
    }


def _of(parts: Mapping[str, dict[str, str]], scene: Scene) -> dict[str, str]:
    if scene.scenario not in parts:
        raise PhysPlanError(f"data.yaml has no scene {scene.scenario.removeprefix('trimmed-')!r}.")
    return parts[scene.scenario]
