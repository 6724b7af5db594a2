"""Stages in order, each kept when it is done: the same command resumes after the last one that was."""

from __future__ import annotations

import hashlib
import json
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from physplan import machine
from physplan.errors import PhysPlanError
from physplan.files import write_atomic, write_json
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
from physplan_bench.accept.scrub import scrubbed

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
AGAIN = ("failure", "skipped")  # levels of a stage that the same command does again


def run_stages(here: Acceptance, wanted: Sequence[int], tell: Callable[[str], None]) -> dict[str, Any]:
    found: dict[int, dict[str, Any]] = {}
    for number in sorted(STAGES):
        path = here.folder / "stages" / f"{number}.json"
        key = key_of(here, number)
        if (kept := _kept(path, key)) is not None and (number not in wanted or kept["level"] not in AGAIN):
            found[number] = kept
            tell(f"stage {number}, {TITLES[number]}: {kept['level']} (done before)")
            continue
        if number not in wanted:
            continue
        tell(f"stage {number}, {TITLES[number]}")
        found[number] = _done(here, number, found).to_json()
        write_json(path, scrubbed(found[number] | {"key": key}, [here.folder]))
        tell(f"stage {number}: {found[number]['level']}")
    result: dict[str, Any] = scrubbed(whole(here, found), [here.folder])
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
    except Exception as error:  # code that has never met these weights: what broke, and where, is the finding
        result = StageResult(stage=number, findings=[_broke(here, number, error)])
    return replace(result, seconds=time.monotonic() - begun)


def _broke(here: Acceptance, number: int, error: Exception) -> Finding:
    """The last two places of our own code, by module; the whole traceback stays in a file here."""
    path = here.folder / "stages" / f"{number}-traceback.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, "".join(traceback.format_exception(error)))
    modules = [
        (frame.f_globals.get("__name__", ""), line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    own = [f"{name}:{line}" for name, line in modules if name.startswith("physplan")]
    places = ", ".join(own[-2:])
    said = str(error).splitlines()[0] if str(error) else ""
    meaning = f"{type(error).__name__}: {said} (in {places}; stages/{path.name} has the rest)"
    return Finding(name="stage", level="failure", meaning=meaning)


def _lacks_weights(found: dict[int, dict[str, Any]]) -> bool:
    entries = found.get(1, {}).get("findings", [])
    return any(one["name"] == "weights are here" and one["level"] == "failure" for one in entries)


def key_of(here: Acceptance, number: int) -> str:
    """Settings, versions, card, and the budget of stage 6: with others the stage is done again."""
    device = here.config.runtime.device
    plain = {name: value for name, _, value in identity(here.config)}
    versions = {name: machine.versions().get(name) for name in ("physplan", "torch", "diffusers")}
    text = json.dumps(
        [SCHEMA, number, plain, versions, device, _card(device), here.budget if number == 6 else None],
        sort_keys=True,
        default=str,
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _kept(path: Path, key: str) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.pop("key", None) == key else None


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
