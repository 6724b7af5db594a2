"""Appendix D: what a video costs in time, calls, tokens, money and memory, from the ledgers of real runs.

Read from the files of run folders (`physplan.runs`): run.json, plan.json, config.yaml, stages/*.json and all
ledgers. Peak memory is shown where the stage records hold `peak_memory_bytes`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from physplan.errors import PhysPlanError
from physplan.evaluation.reported import API_COST_COLUMNS, STAGE_COST_COLUMNS, TOTAL_COST_COLUMNS
from physplan.evaluation.tables import Row, Table
from physplan.reasoning.ledger import Entry, Ledger

GB = 1e9


@dataclass(frozen=True, kw_only=True)
class Stage:
    seconds: float
    model: str = ""


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """One run. `calls` are all attempts in its ledger; without calls it has no price."""

    method: str
    events: int
    stages: dict[str, Stage]
    peak_memory_bytes: int | None = None
    calls: tuple[Entry, ...] = ()

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages.values())

    @property
    def usd(self) -> float | None:
        return sum(call.usd or 0.0 for call in self.calls) if self.calls else None


STAGE_ORDER = ("plan", "keyframes", "evidence", "latents", "video")
STAGE_TITLES = {
    "plan": "Reasoning",
    "keyframes": "Keyframe rendering and checks",
    "evidence": "Masks and depth",
    "latents": "Guided sampling",
    "video": "Final decoding",
}


def read_run(folder: Path) -> RunCost:
    try:
        inputs = json.loads((folder / "run.json").read_text(encoding="utf-8"))["inputs"]
        models = _models(yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8")) or {})
        records = {
            path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("stages/*.json")
        }
        plan = folder / "plan.json"
        memory = [
            record["peak_memory_bytes"] for record in records.values() if record.get("peak_memory_bytes")
        ]
        return RunCost(
            method=str(inputs["method"]),
            events=len(json.loads(plan.read_text(encoding="utf-8"))["events"]) if plan.exists() else 0,
            stages={
                STAGE_TITLES[name]: Stage(seconds=float(records[name]["seconds"]), model=models.get(name, ""))
                for name in STAGE_ORDER
                if name in records
            },
            peak_memory_bytes=max(memory) if memory else None,
            calls=tuple(
                call for ledger in sorted(folder.rglob("ledger.jsonl")) for call in Ledger(ledger).entries()
            ),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise PhysPlanError(f"{folder} does not hold the files of a run ({error!r}).") from error


def _models(config: Mapping[str, Any]) -> dict[str, str]:
    """What each stage ran, by the settings of the run."""

    def name(part: Any) -> str:
        part = part or {}
        return str(part.get("model") or (part.get("options") or {}).get("model") or part.get("name") or "")

    perception = config.get("perception") or {}
    video = name(config.get("video"))
    return {
        "plan": name(config.get("reasoner")),
        "keyframes": name(config.get("editor")),
        "evidence": ", ".join(filter(None, (name(perception.get(part)) for part in ("segmenter", "depth")))),
        "latents": ", ".join(filter(None, (name(perception.get("encoder")), video))),
        "video": video,
    }


def read_runs(folders: Sequence[Path]) -> list[RunCost]:
    """All finished runs in or below the folders."""
    found = sorted({p.parent for folder in folders for p in folder.rglob("run.json") if _finished(p.parent)})
    if not found:
        raise PhysPlanError(f"There is no finished run in {', '.join(map(str, folders))}.")
    return [read_run(folder) for folder in found]


def _finished(folder: Path) -> bool:
    return (folder / "stages" / "video.json").is_file()


def stage_table(runs: Sequence[RunCost]) -> Table:
    """Mean seconds per stage, in the order in which the stages ran."""
    names = list(dict.fromkeys(name for run in runs for name in run.stages))
    rows = []
    for name in names:
        stages = [run.stages[name] for run in runs if name in run.stages]
        models = ", ".join(sorted({stage.model for stage in stages if stage.model}))
        rows.append(Row(label=name, cells=(models, sum(stage.seconds for stage in stages) / len(runs))))
    total = float(np.mean([run.seconds for run in runs]))
    return Table(
        title=f"Runtime per stage ({_described(runs)})",
        columns=STAGE_COST_COLUMNS,
        rows=(*rows, Row(label="Total", cells=("", total))),
        label="Stage",
    )


def call_table(runs: Sequence[RunCost]) -> Table:
    """Per video and kind of call: answered calls, tokens, images, money. Retries are paid, not counted."""
    purposes = list(dict.fromkeys(call.purpose for run in runs for call in run.calls))
    rows = [
        _call_row(purpose, [c for r in runs for c in r.calls if c.purpose == purpose], len(runs))
        for purpose in purposes
    ]
    rows.append(_call_row("Total", [call for run in runs for call in run.calls], len(runs)))
    return Table(
        title=f"API cost per video ({_described(runs)})",
        columns=API_COST_COLUMNS,
        rows=tuple(rows),
        label="Call",
    )


def total_table(runs: Sequence[RunCost]) -> Table:
    """Time, memory and money per method and number of events."""
    groups: dict[tuple[str, int], list[RunCost]] = {}
    for run in runs:
        groups.setdefault((run.method, run.events), []).append(run)
    rows = []
    for (method, events), members in sorted(groups.items()):
        memory = [run.peak_memory_bytes / GB for run in members if run.peak_memory_bytes is not None]
        money = [run.usd for run in members if run.usd is not None]
        rows.append(
            Row(
                label=f"{method}, K = {events} (n = {len(members)})",
                cells=(
                    float(np.mean([run.seconds for run in members])),
                    max(memory) if memory else None,
                    float(np.mean(money)) if money else None,
                ),
            )
        )
    return Table(
        title="Total cost per video", columns=TOTAL_COST_COLUMNS, rows=tuple(rows), note=_growth(groups)
    )


def growth(runs: Sequence[RunCost]) -> tuple[float, float | None]:
    """Seconds and USD per further event: the slope of a least-squares line. Needs two values of K."""
    events = np.array([run.events for run in runs], float)
    seconds = np.polyfit(events, [run.seconds for run in runs], 1)[0]
    money = [run.usd for run in runs]
    usd = (
        None
        if any(value is None for value in money)
        else float(np.polyfit(events, np.array(money, float), 1)[0])
    )
    return float(seconds), usd


def _growth(groups: dict[tuple[str, int], list[RunCost]]) -> str:
    notes = []
    for method in dict.fromkeys(method for method, _ in groups):
        runs = [run for (name, _), members in groups.items() if name == method for run in members]
        if len({run.events for run in runs}) > 1:
            seconds, usd = growth(runs)
            money = "" if usd is None else f" and {usd:.3f} USD"
            notes.append(f"{method}: {seconds:+.1f} s{money} per further event.")
    return " ".join(notes)


def _call_row(label: str, calls: Sequence[Entry], runs: int) -> Row:
    answered = [call for call in calls if call.outcome == "answered"]
    return Row(
        label=label,
        cells=(
            len(answered) / runs,
            sum(call.input_tokens for call in answered) / runs,
            sum(call.output_tokens for call in answered) / runs,
            sum(call.images for call in answered) / runs,
            sum(call.usd or 0.0 for call in calls) / runs,
        ),
    )


def _described(runs: Sequence[RunCost]) -> str:
    events = sorted({run.events for run in runs})
    return f"{len(runs)} runs, K = {', '.join(map(str, events))}"
