"""`physplan accept` on tiny models of the real classes, for its tests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml
from tests.pipeline import tiny_pipelines

from physplan.cli import main
from physplan_bench.accept.run import RESULT


def recipe_of(preset: str, models: Path, url: str, video_url: str = "") -> dict[str, Any]:
    """The preset as the pipeline's own tests have it: every part it names, only small."""
    if preset == "sandbox":
        return {"preset": preset}
    if preset == "photo":
        return {"preset": preset, "video": {"height": 96, "width": 128, "num_frames": 9}}
    if preset == "cloud":
        small = {"width": 48, "height": 32, "num_frames": 9, "fps": 8, "base_url": video_url}
        return tiny_pipelines.storyboard(models, url) | {"preset": preset, "video": small}
    if preset == "storyboard":
        return tiny_pipelines.storyboard(models, url)
    if preset in ("home", "desk"):
        given = tiny_pipelines.local(models, url, preset)
    elif preset == "open":
        given = tiny_pipelines.open_weights(models, url)
    else:
        given = tiny_pipelines.paper(models, url) | {"preset": preset}
    return given | dict.fromkeys(("guidance", "guided_sketch"), tiny_pipelines.GUIDANCE)


def written(recipe: dict[str, Any], folder: Path) -> Path:
    """The recipe as a file beside the acceptance's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder.with_name(f"{folder.name}.yaml")
    file.write_text(yaml.safe_dump(json.loads(json.dumps(recipe, default=list))), encoding="utf-8")
    return file


def accept(recipe: dict[str, Any], folder: Path, *more: object) -> tuple[int, dict[str, Any]]:
    """Exit code and acceptance.json of the command on this recipe."""
    code = main(["accept", str(written(recipe, folder)), "-o", str(folder), *map(str, more)])
    return code, json.loads((folder / RESULT).read_text(encoding="utf-8"))


def spoilt(recipe: dict[str, Any], folder: Path) -> tuple[dict[str, Any], Path]:
    """The recipe with a copy of its video model, to be spoilt."""
    copy = folder / "spoilt"
    shutil.copytree(recipe["video"]["source"], copy)
    return recipe | {"video": recipe["video"] | {"source": str(copy)}}, copy


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def failures(result: dict[str, Any]) -> dict[int, list[str]]:
    """By stage, the names of its findings that are failures."""
    return {
        stage["stage"]: [one["name"] for one in stage["findings"] if one["level"] == "failure"]
        for stage in result["stages"]
    }
