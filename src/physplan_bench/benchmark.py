"""A benchmark is one shape: cases, a set-up, a summary and a table. One runner does them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction, EngineConfig, Progress, RunReport, run_cases
from physplan_bench.tables import Table

Results = Mapping[str, Mapping[str, Any]]  # the result of each case, by its name


class Benchmark(Protocol):
    """Plain values only, because worker processes get a copy: what is heavy is loaded by `setup`."""

    @property
    def name(self) -> str: ...

    def cases(self) -> Sequence[Case]: ...

    def setup(self) -> CaseFunction:
        """Once per worker; the function that it returns does one case."""
        ...

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        """The whole result, as plain JSON; `folder` holds what the cases have left there."""
        ...

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        """The result as a row under this label, or as several with labels of their own."""
        ...


def run_benchmark(
    benchmark: Benchmark,
    folder: Path,
    *,
    engine: EngineConfig | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """Do every case that is missing and sum all up. A part of them (`--shard`) has no summary."""
    cases = benchmark.cases()
    report = RunReport()
    if cases:  # what is only read from files has none
        report = run_cases(cases, benchmark.setup, folder, config=engine, progress=progress)
    report.require_complete()
    if len(report.results) < len(cases):
        done = len(report.results)
        return {"benchmark": benchmark.name, "partial": True, "measured": done, "of": len(cases)}
    return {"benchmark": benchmark.name, **benchmark.summarise(report.results, folder)}
