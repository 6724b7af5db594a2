"""Appendix D: what a video costs in time, calls, tokens, money and memory, from the ledgers of real runs.

Read from the files of run folders (`physplan.runs`): run.json, plan.json, config.yaml, stages/*.json and all
ledgers. Peak memory is the GPU's where the run used one, else that of the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from physplan.calls.ledger import Entry, Ledger
from physplan.errors import PhysPlanError
from physplan.foreign import inside, read_file
from physplan.runs import StageRecord, layout
from physplan.runs.records import load_json
from physplan_bench.paper_tables import (
    API_COST_COLUMNS,
    STAGE_COST_COLUMNS,
    TOTAL_COST_COLUMNS,
    reported_rows,
)
from physplan_bench.tables import Cell, Row, Table, rows_of

GB = 1e9


@dataclass(frozen=True, kw_only=True)
class Stage:
    seconds: float
    model: str = ""
    peak_memory_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """One run. `calls` are all attempts in its ledger; without calls it has no price."""

    method: str
    events: int
    stages: dict[str, Stage]
    device: str = ""
    calls: tuple[Entry, ...] = ()

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages.values())

    @property
    def peak_memory_bytes(self) -> int | None:
        return max((stage.peak_memory_bytes or 0 for stage in self.stages.values()), default=0) or None

    @property
    def usd(self) -> float | None:
        return sum(call.usd or 0.0 for call in self.calls) if self.calls else None


STAGE_TITLES = {
    "plan": "Reasoning",
    "keyframes": "Keyframe rendering and checks",
    "evidence": "Masks and depth",
    "sketch": "Sketch",
    "latents": "Guided sampling",
    "video": "Final decoding",
    "verdict": "Check of the video",
}
# What the reasoners' calls are for.
PARSING, TRANSLATING = ("parse", "decompose", "scenes"), ("translate", "regenerate", "instruct")


def read_run(folder: Path) -> RunCost:
    try:
        config = yaml.safe_load(read_file(inside(folder, layout.CONFIG), limit=1_000_000)) or {}
        models = _models(config)
        records = {
            stage: record
            for stage in layout.STAGES
            if (record := StageRecord.load(folder, layout.record(stage))) is not None
        }
        plan, times = folder / layout.PLAN, folder / layout.TIMES
        calls = tuple(
            call for ledger in sorted(folder.rglob("ledger.jsonl")) for call in Ledger(ledger).entries()
        )
        return RunCost(
            method=layout.load_run(folder).method,
            events=len(load_json(folder, layout.PLAN)["events"]) if plan.exists() else 0,
            stages=_as_the_paper_does(
                {
                    name: Stage(
                        seconds=record.seconds, model=models[name], peak_memory_bytes=record.peak_memory_bytes
                    )
                    for name, record in records.items()
                },
                calls,
                load_json(folder, layout.TIMES) if times.exists() else {},
            ),
            device=str((config.get("runtime") or {}).get("device") or ""),
            calls=calls,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise PhysPlanError(f"{folder} does not hold the files of a run ({error!r}).") from error


def _as_the_paper_does(
    stages: Mapping[str, Stage], calls: Sequence[Entry], times: Mapping[str, float]
) -> dict[str, Stage]:
    """The paper's seven stages: planning in two by the time of its calls, guided sampling in three by its
    own clock. What cannot be told apart stays one."""
    found: dict[str, Stage] = {}
    first = sum(call.seconds for call in calls if call.purpose in PARSING)
    then = sum(call.seconds for call in calls if call.purpose in TRANSLATING)
    for name, stage in stages.items():
        if name == "plan" and first and then:
            share = first / (first + then)
            found["Scene parsing and decomposition"] = replace(stage, seconds=share * stage.seconds)
            found["Delta translation and checks"] = replace(stage, seconds=(1 - share) * stage.seconds)
        elif name == "latents" and times:
            decoding, guiding = float(times["previews"]), float(times["backpropagation"])
            found["Preview decoding"] = replace(stage, seconds=decoding)
            found["Measurement and backpropagation"] = replace(stage, seconds=guiding)
            rest = stage.seconds - decoding - guiding
            found["Sampling and final decoding"] = replace(stage, seconds=rest)
        elif name == "video" and times:
            sampled = found["Sampling and final decoding"]
            found["Sampling and final decoding"] = replace(sampled, seconds=sampled.seconds + stage.seconds)
        else:
            found[STAGE_TITLES[name]] = stage
    return found


def _models(config: Mapping[str, Any]) -> dict[str, str]:
    """What each stage ran, by the settings of the run."""

    def name(part: Any) -> str:
        part = part or {}
        found = part.get("model") or (part.get("options") or {}).get("model") or part.get("name") or ""
        return found if isinstance(found, str) else ""

    perception = config.get("perception") or {}
    video = name(config.get("video"))
    return {
        "plan": name(config.get("reasoner")),
        "keyframes": name(config.get("editor")),
        "evidence": ", ".join(filter(None, (name(perception.get(part)) for part in ("segmenter", "depth")))),
        "sketch": "",
        "latents": ", ".join(filter(None, (name(perception.get("encoder")), video))),
        "video": video,
        "verdict": name(perception.get("encoder")),
    }


def _part(run: Path) -> bool:
    """An attempt, and the base video, is a part of the run that asked for it."""
    within = run.parent.parent
    return within.name == layout.ATTEMPTS_FOLDER or (
        run.parent.name == layout.BASE and (within / layout.RUN).exists()
    )


def read_runs(folders: Sequence[Path]) -> list[RunCost]:
    """All finished runs in or below the folders."""
    runs = {p.parent for folder in folders for p in folder.rglob(layout.RUN) if not _part(p)}
    found = sorted(run for run in runs if _finished(run))
    if not found:
        raise PhysPlanError(f"There is no finished run in {', '.join(map(str, folders))}.")
    return [read_run(folder) for folder in found]


def _finished(folder: Path) -> bool:
    return (folder / layout.record("video")).is_file()


def stage_table(runs: Sequence[RunCost]) -> Table:
    """Mean seconds and highest memory per stage, in the order in which the stages ran."""
    names = list(dict.fromkeys(name for run in runs for name in run.stages))
    rows = []
    for name in names:
        stages = [run.stages[name] for run in runs if name in run.stages]
        models = ", ".join(sorted({stage.model for stage in stages if stage.model}))
        seconds = sum(stage.seconds for stage in stages) / len(runs)
        rows.append(
            Row(label=name, cells=(models, seconds, _gb(stage.peak_memory_bytes for stage in stages)))
        )
    total = float(np.mean([run.seconds for run in runs]))
    most = _gb(run.peak_memory_bytes for run in runs)
    return Table(
        title=f"Runtime per stage ({_described(runs)})",
        columns=STAGE_COST_COLUMNS,
        rows=(*rows, Row(label="Total", cells=("", total, most))),
        label="Stage",
        note=_whose_memory(runs),
        reported=reported_rows("cost-stages"),
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
        reported=reported_rows("cost-calls"),
    )


def total_table(runs: Sequence[RunCost]) -> Table:
    """Time, memory and money per method and number of events."""
    groups: dict[tuple[str, int], list[RunCost]] = {}
    for run in runs:
        groups.setdefault((run.method, run.events), []).append(run)
    rows: dict[str, tuple[Cell, ...]] = {}
    for (method, events), members in sorted(groups.items()):
        money = [run.usd for run in members if run.usd is not None]
        rows[f"{method}, K = {events} (n = {len(members)})"] = (
            float(np.mean([run.seconds for run in members])),
            _gb(run.peak_memory_bytes for run in members),
            float(np.mean(money)) if money else None,
        )
    return Table(
        title="Total cost per video",
        columns=TOTAL_COST_COLUMNS,
        rows=rows_of(rows),
        note=" ".join(filter(None, (_growth(groups), _whose_memory(runs)))),
        reported=reported_rows("cost-total"),
    )


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What one further event adds; None where it was not counted."""

    seconds: float
    gb: float | None
    usd: float | None

    def __str__(self) -> str:
        parts = [f"{self.seconds:+.1f} s"]
        parts += [] if self.gb is None else [f"{self.gb:+.2f} GB"]
        parts += [] if self.usd is None else [f"{self.usd:+.3f} USD"]
        return ", ".join(parts)


def growth(runs: Sequence[RunCost]) -> Growth:
    """The slopes of least-squares lines over the number of events, of which there must be two or more."""
    events = [run.events for run in runs]

    def slope(values: Sequence[float | None]) -> float | None:
        return None if None in values else float(np.polyfit(events, np.array(values, float), 1)[0])

    memory = [run.peak_memory_bytes for run in runs]
    return Growth(
        seconds=float(np.polyfit(events, [run.seconds for run in runs], 1)[0]),
        gb=slope([None if held is None else held / GB for held in memory]),
        usd=slope([run.usd for run in runs]),
    )


def _growth(groups: dict[tuple[str, int], list[RunCost]]) -> str:
    notes = []
    for method in dict.fromkeys(method for method, _ in groups):
        runs = [run for (name, _), members in groups.items() if name == method for run in members]
        if len({run.events for run in runs}) > 1:
            notes.append(f"{method}: {growth(runs)} per further event.")
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


def _gb(amounts: Iterable[int | None]) -> float | None:
    return max((amount / GB for amount in amounts if amount is not None), default=None)


def _whose_memory(runs: Sequence[RunCost]) -> str:
    measured = {run.device for run in runs if run.peak_memory_bytes is not None}
    whose = {"of the GPU" if device.startswith("cuda") else "of the whole process" for device in measured}
    return f"Memory is the highest {' or '.join(sorted(whose))}." if whose else ""


def _described(runs: Sequence[RunCost]) -> str:
    events = sorted({run.events for run in runs})
    return f"{len(runs)} runs, K = {', '.join(map(str, events))}"
