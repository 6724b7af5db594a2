"""The study's videos as records, and what is kept of a case's plan for the result page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from physplan.files import atomic_path, write_json
from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan_bench.cases import Case
from physplan_bench.records import Record
from physplan_bench.sandbox.arms import Arm

PLAN, KEYFRAME, VIDEO = "plan.json", "keyframe-{}.png", "video.mp4"


def keep_plan(directory: Path, chain: EventChain, evidence: Evidence) -> None:
    """The plan in words and the keyframes as pictures, beside the video."""
    for number, keyframe in enumerate(evidence.keyframes, 1):
        pixels = (keyframe.image.clamp(0, 1) * 255 + 0.5).to(torch.uint8).permute(1, 2, 0)
        with atomic_path(directory / KEYFRAME.format(number)) as path:
            Image.fromarray(pixels.cpu().numpy()).save(path, format="PNG")
    write_json(directory / PLAN, {"prompt": chain.prompt, "events": words_of_plan(chain)})


def words_of_plan(chain: EventChain) -> list[str]:
    return [
        f"Frame {event.anchor}: "
        + "; ".join(f"{change.object}: {change.state} ({change.rule})" for change in event.delta.states)
        for event in chain.events
    ]


def make_record(arm: Arm, case: Case, seed: int, result: Mapping[str, Any], folder: Path) -> Record:
    """`seed` is the study's: an ablation without effect shares another arm's case."""
    kept = json.loads(path.read_text(encoding="utf-8")) if (path := folder / PLAN).is_file() else {}
    good = bool(result["plausible"] and result["preserved"])
    frames = sorted(folder.glob(KEYFRAME.format("*")))
    numbers = ("margin", "centroid_error", "attempts", "seconds")
    return Record(
        scene=str(case.identity["scene"]),
        method=arm.label,
        seed=seed,
        score=100.0 * good,
        good=good,
        phenomenon=result["phenomenon"],
        verdict=result["verdict"],
        failure=failure_of(result),
        prompt=kept.get("prompt", ""),
        plan=tuple(kept.get("events", ())),
        keyframes=tuple(str(path) for path in frames),
        video=str(path) if (path := folder / VIDEO).is_file() else "",
        values={
            "outcome": result["outcome"],
            "verdict_score": result["score"],
            **{name: result[name] for name in numbers},
        },
    )


def failure_of(result: Mapping[str, Any]) -> str:
    """The first thing that is wrong: the outcome, an object beside it, or nothing."""
    if not result["plausible"]:
        return "another outcome"
    return "" if result["preserved"] else "a bystander changed"
