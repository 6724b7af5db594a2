"""Stages in order, each kept when it is done: the same command resumes after the last one that was."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from physplan import machine
from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.graph import GraphError
from physplan.pipeline.stage_keys import identity
from physplan_bench.accept import (
    guided_stage,
    machine_stage,
    parity_stage,
    perception_stage,
    services_stage,
    videos_stage,
)
from physplan_bench.accept.context import Acceptance
from physplan_bench.accept.findings import ORDER, TITLES, Finding, StageResult

SCHEMA = "physplan.acceptance/1"
RESULT = "acceptance.json"
STAGES: dict[int, Callable[[Acceptance], StageResult]] = {
    1: machine_stage.look,
    2: parity_stage.compare,
    3: perception_stage.look,
    4: guided_stage.repeat,
    5: videos_stage.make,
    6: services_stage.call,
}
NEEDS_WEIGHTS = (2, 4, 5)
HOME = re.compile(r"(/[\w.@+~-]+){2,}/?|[A-Za-z]:\\[^\s'\"]+")  # two folders or more: a path
KEYS = re.compile(r"\b(sk|AIza|hf|key)[-_A-Za-z0-9]{12,}\b")


def run_stages(here: Acceptance, wanted: Sequence[int], tell: Callable[[str], None]) -> dict[str, Any]:
    found: dict[int, dict[str, Any]] = {}
    for number in sorted(STAGES):
        path = here.folder / "stages" / f"{number}.json"
        key = key_of(here, number)
        if (kept := _kept(path, key)) is not None and (number not in wanted or kept["level"] != "failure"):
            found[number] = kept
            tell(f"stage {number}, {TITLES[number]}: {kept['level']} (done before)")
            continue
        if number not in wanted:
            continue
        tell(f"stage {number}, {TITLES[number]}")
        found[number] = _done(here, number, found).to_json()
        write_json(path, scrubbed(found[number] | {"key": key}))
        tell(f"stage {number}: {found[number]['level']}")
    result: dict[str, Any] = scrubbed(whole(here, found))
    write_json(here.folder / RESULT, result)
    return result


def _done(here: Acceptance, number: int, found: dict[int, dict[str, Any]]) -> StageResult:
    if number in NEEDS_WEIGHTS and here.samples and _lacks_weights(found):
        reason = "stage 1 found no weights"
        return StageResult(stage=number, findings=[Finding(name="weights", level="skipped", meaning=reason)])
    begun = time.monotonic()
    try:
        result = STAGES[number](here)
    except (PhysPlanError, GraphError, torch.OutOfMemoryError, MemoryError) as error:
        meaning = str(error).splitlines()[0] if str(error) else type(error).__name__
        result = StageResult(stage=number, findings=[Finding(name="stage", level="failure", meaning=meaning)])
    return StageResult(
        stage=number,
        findings=result.findings,
        pictures=result.pictures,
        seconds=time.monotonic() - begun,
    )


def _lacks_weights(found: dict[int, dict[str, Any]]) -> bool:
    entries = found.get(1, {}).get("findings", [])
    return any(one["name"] == "weights are here" and one["level"] == "failure" for one in entries)


def key_of(here: Acceptance, number: int) -> str:
    """Settings, versions and device: with others the stage is done again."""
    plain = {name: value for name, _, value in identity(here.config)}
    versions = {name: machine.versions().get(name) for name in ("physplan", "torch", "diffusers")}
    text = json.dumps(
        [SCHEMA, number, plain, versions, here.config.runtime.device], sort_keys=True, default=str
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _kept(path: Path, key: str) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("key") == key else None


def whole(here: Acceptance, found: dict[int, dict[str, Any]]) -> dict[str, Any]:
    video, runtime = here.config.video, here.config.runtime
    levels = [found[number]["level"] for number in found]
    return {
        "schema": SCHEMA,
        "preset": here.config.preset,
        "level": max(levels, key=ORDER.index, default="skipped"),
        "complete": len(found) == len(STAGES),
        "card": _card(runtime.device),
        "versions": {name: value for name, value in machine.versions().items() if value},
        "settings": {
            "video.model": video.model,
            "own weights": video.source is not None,
            "video.dtype": video.dtype,
            "size": f"{video.width}x{video.height}x{video.num_frames}",
            "steps": video.num_inference_steps,
            "offload": runtime.offload,
            "gradient": here.config.guidance.gradient,
        },
        "stages": [found[number] for number in sorted(found)],
    }


def _card(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else "none"


def scrubbed(value: Any) -> Any:
    """No path, key or name of a person's machine leaves in the file."""
    if isinstance(value, dict):
        return {name: scrubbed(one) for name, one in value.items()}
    if isinstance(value, list):
        return [scrubbed(one) for one in value]
    if isinstance(value, str):
        return KEYS.sub("(key)", HOME.sub("(path)", value))
    return value
