"""What became of every row, read from the folder: as data, as a table, and as a page (`gallery`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from physplan.files import write_json
from physplan.runs import layout
from physplan_bench.batch.jobs import RECORD, Job
from physplan_bench.cases import CaseStore
from physplan_bench.provenance import provenance
from physplan_bench.shared_budget import open_total
from physplan_bench.tables import Row, Table, titled

State = Literal["made", "failed", "missing"]
COLUMNS = (
    *titled("method", "seed", "state", "verdict"),
    *titled("s", "calls", digits=1),
    *titled("USD", digits=4),
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One row of the batch. Paths are relative to its folder."""

    job: Job
    state: State
    reason: str = ""
    result: Mapping[str, Any] | None = None
    video: str = ""
    report: str = ""

    @property
    def cells(self) -> tuple[Any, ...]:
        result = self.result or {}
        row = self.job.row
        known = (result.get(name) for name in ("verdict", "seconds", "calls", "usd"))
        return (row.method, row.seed, self.state, *known)


def read_entries(jobs: Sequence[Job], folder: Path, failures: Mapping[str, str]) -> list[Entry]:
    """All rows, those of other shards too."""
    store = CaseStore(folder)
    entries = []
    for job in jobs:
        name = job.row.name
        record = store.result(job.case)
        run = job.run_folder(folder) / layout.REPORT
        entries.append(
            Entry(
                job=job,
                state="made" if record else "failed" if name in failures else "missing",
                reason="" if record else failures.get(name, ""),
                result=record["result"] if record else None,
                video=f"{name}.mp4" if record else "",
                report=str(run.relative_to(folder)) if run.is_file() else "",
            )
        )
    return entries


def summarise(entries: Sequence[Entry], folder: Path, budget: float | None) -> dict[str, Any]:
    spent = open_total(folder).totals()
    return {
        "benchmark": "batch",
        "provenance": provenance(protocol="batch", settings={"budget": budget}),
        "made": sum(entry.state == "made" for entry in entries),
        "of": len(entries),
        "usd": float(spent.usd),  # of attempts that came to nothing too
        "calls": spent.calls,
        "seconds": sum((entry.result or {}).get("seconds", 0.0) for entry in entries),
        "videos": {
            entry.job.row.name: {
                "line": entry.job.row.line,
                "state": entry.state,
                "reason": entry.reason,
                "image": str(entry.job.row.image),
                "prompt": entry.job.identity["prompt"],
                "seed": entry.job.row.seed,
                "method": entry.job.row.method,
                "settings": dict(entry.job.row.settings),
                **(entry.result or {}),
            }
            for entry in entries
        },
    }


def _holding(entries: Sequence[Entry]) -> str:
    verdicts = [(entry.result or {}).get("verdict") for entry in entries if entry.result]
    return f"{verdicts.count('holds')} of {len(verdicts)} hold" if verdicts else ""


def write_record(result: Mapping[str, Any], folder: Path) -> None:
    write_json(folder / RECORD, result)


def make_table(entries: Sequence[Entry], result: Mapping[str, Any]) -> Table:
    rows = [Row(label=entry.job.row.label, cells=entry.cells) for entry in entries]
    state = f"{result['made']} of {result['of']} made"
    total = Row(
        label="All",
        cells=("", "", state, _holding(entries), result["seconds"], result["calls"], result["usd"]),
    )
    paid = "Calls and USD of all count attempts that came to nothing too." if result["calls"] else ""
    return Table(title="Batch", columns=COLUMNS, rows=(*rows, total), label="Video", note=paid)
