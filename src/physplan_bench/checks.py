"""Appendix C's table of the deterministic checks, from the plans of a folder or of run folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from physplan.reasoning.stats import CheckStatistics, statistics
from physplan_bench.paper_tables import CHECK_COLUMNS, reported_rows
from physplan_bench.provenance import provenance
from physplan_bench.tables import Row, Table


def summarise(folder: Path) -> dict[str, Any]:
    found = statistics(folder)
    return {
        "benchmark": "checks",
        "provenance": provenance(protocol="checks of edit sets", settings={"folder": folder.name}),
        "plans": found.plans,
        "edit_sets": found.edit_sets,
        "malformed": found.malformed,
        "violations": dict(found.violations),
        "shares": shares(found),
        "warnings": [f"{path} is a broken plan and was left out." for path in found.skipped],
    }


def shares(found: CheckStatistics) -> dict[str, float | None]:
    """In per cent, by the titles of the columns; a share of nothing is None."""
    sets, violations = found.edit_sets, sum(found.violations.values())
    passed = {"First attempt": found.first, "After retries": found.first + found.retried}
    counts = {name: (count, sets) for name, count in {**passed, "Rejected": found.rejected}.items()}
    for column in CHECK_COLUMNS[len(counts) :]:
        counts[column.title] = (found.violations[column.title.lower()], violations)
    return {name: 100 * part / whole if whole else None for name, (part, whole) in counts.items()}


def make_table(result: dict[str, Any], label: str) -> Table:
    return Table(
        title="Deterministic checks: edit sets that pass, and violations by check (%)",
        columns=CHECK_COLUMNS,
        rows=(Row(label=label, cells=tuple(result["shares"][c.title] for c in CHECK_COLUMNS)),),
        note=f"{result['edit_sets']} edit sets of {result['plans']} plans,"
        f" {sum(result['violations'].values())} violations; {result['malformed']} answers had no edit set.",
        unit="%",
        reported=reported_rows("checks"),
    )
