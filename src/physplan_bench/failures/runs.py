"""What a run folder (`physplan.runs`) tells about a failed video, read from its files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.foreign import inside
from physplan.runs import StageRecord, layout
from physplan.runs.records import load_json, read_from
from physplan_bench.failures.guess import Guess, Measurements, first_guess


def describe_run(folder: Path) -> dict[str, Any]:
    """Chain in words, keyframes and a guess, as far as they are there, as fields of a `FailedVideo`."""
    names = (path.name for path in (folder / layout.KEYFRAMES_FOLDER).glob("*.png"))
    numbers = sorted(int(name[:-4]) for name in names if name[:-4].isdecimal())
    found: dict[str, Any] = {"keyframes": [inside(folder, layout.keyframe(number)) for number in numbers]}
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
    unfinished = (folder / layout.UNFINISHED_PLAN).is_file()
    name = layout.UNFINISHED_PLAN if unfinished else layout.PLAN
    if not (folder / name).is_file():
        return None
    with read_from(folder / name):
        plan = load_json(folder, name)
    keyframes = layout.load_keyframe_records(folder) if (folder / layout.KEYFRAMES).is_file() else []
    evidence = StageRecord.load(folder, layout.record("evidence"))
    losses = layout.load_losses(folder) if (folder / layout.LOSSES).is_file() else {}
    terms, unmeasured = read_terms(losses)
    return Measurements(
        rejected_edit_sets=int(unfinished),
        regenerated_deltas=_regenerated(plan, folder / name),
        keyframe_drift=[entry.drift for entry in keyframes],
        keyframe_faults=[problem for entry in keyframes for problem in entry.problems],
        objects_not_found=list(evidence.notes) if evidence else [],
        terms=terms,
        unmeasured_terms=unmeasured,
    )


def _regenerated(plan: Any, path: Path) -> int:
    """How often a delta had to be predicted again, over all events."""
    generations: dict[int, int] = {}
    try:
        for attempt in (plan.get("provenance") or {}).get("checks", []):
            event = int(attempt["event"])
            generations[event] = max(generations.get(event, 0), int(attempt["generation"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PhysPlanError(f"{path} is not a plan of PhysPlan ({error!r}): give another folder.") from None
    return sum(generations.values())


def read_terms(losses: Any) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """First and last value of every term, and the terms that never had one."""
    values: dict[str, list[float]] = {}
    for step in losses.get("steps", []):
        for term in step["terms"]:
            label = f"{term['term']} of {', '.join(term['objects'])} at event {term['event'] + 1}"
            values.setdefault(label, []).extend([] if term.get("value") is None else [term["value"]])
    measured = {label: (found[0], found[-1]) for label, found in values.items() if found}
    return measured, [label for label, found in values.items() if not found]
