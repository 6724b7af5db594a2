"""What a run folder (`physplan.runs`) tells about a failed video, read from its files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.evaluation.failures.guess import Guess, Measurements, first_guess
from physplan.runs import layout


def describe_run(folder: Path) -> dict[str, Any]:
    """Chain in words, keyframes and a guess, as far as they are there, as fields of a `FailedVideo`."""
    found: dict[str, Any] = {"keyframes": sorted(folder.glob(layout.keyframe("*")))}
    if (folder / layout.PLAN).is_file():
        found["events"] = [
            f"Frame {event.anchor}: "
            + "; ".join(f"{change.object}: {change.state} ({change.rule})" for change in event.delta.states)
            for event in layout.load_plan(folder).events
        ]
    if guess := guess_of(folder):
        found["guess"] = guess
    return found


def guess_of(folder: Path) -> Guess | None:
    measured = measure_run(folder)
    return None if measured is None else first_guess(measured)


def measure_run(folder: Path) -> Measurements | None:
    """None where the folder holds no run, or one without a plan (the base model)."""
    unfinished = _read(folder / layout.UNFINISHED_PLAN)
    plan = unfinished or _read(folder / layout.PLAN)
    if plan is None:
        return None
    keyframes = _read(folder / layout.KEYFRAMES) or []
    evidence = _read(folder / layout.record("evidence")) or {}
    terms, unmeasured = read_terms(_read(folder / layout.LOSSES) or {})
    try:
        generations: dict[int, int] = {}
        for attempt in (plan.get("provenance") or {}).get("checks", []):
            event = attempt["event"]
            generations[event] = max(generations.get(event, 0), attempt["generation"])
        return Measurements(
            rejected_edit_sets=int(unfinished is not None),
            regenerated_deltas=sum(generations.values()),
            keyframe_drift=[float(entry["drift"]) for entry in keyframes],
            keyframe_faults=[problem for entry in keyframes for problem in entry["problems"]],
            objects_not_found=list(evidence.get("notes", [])),
            terms=terms,
            unmeasured_terms=unmeasured,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PhysPlanError(f"{folder} does not hold the files of a run ({error!r}).") from error


def read_terms(losses: Any) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """First and last value of every term, and the terms that never had one."""
    values: dict[str, list[float]] = {}
    for step in losses.get("steps", []):
        for term in step["terms"]:
            label = f"{term['term']} of {', '.join(term['objects'])} at event {term['event'] + 1}"
            values.setdefault(label, []).extend([] if term["value"] is None else [term["value"]])
    measured = {label: (found[0], found[-1]) for label, found in values.items() if found}
    return measured, [label for label, found in values.items() if not found]


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise PhysPlanError(f"{path} cannot be read ({error}).") from error
