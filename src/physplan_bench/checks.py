"""Appendix C's table of the deterministic checks, from the plans of a folder or of run folders."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.foreign import read_file
from physplan.graph import GraphError, Limits, parse_json
from physplan_bench.paper_tables import CHECK_COLUMNS, reported_rows
from physplan_bench.provenance import provenance
from physplan_bench.tables import Row, Table

ALL_ATTEMPTS = 4  # the first, and the three retries of appendix A.2


@dataclass(kw_only=True)
class CheckStatistics:
    """Over edit sets: how many were accepted at first, after retries, never; and the violations per check."""

    plans: int = 0
    first: int = 0
    retried: int = 0
    rejected: int = 0
    malformed: int = 0
    violations: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)

    @property
    def edit_sets(self) -> int:
        return self.first + self.retried + self.rejected

    def add(self, checks: Iterable[Mapping[str, Any]]) -> None:
        """The attempts of one plan, as its provenance records them."""
        groups: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for attempt in checks:
            groups.setdefault((attempt["event"], attempt["generation"]), []).append(attempt)
        for (event, generation), attempts in groups.items():
            for attempt in attempts:
                self.violations.update(violation["check"] for violation in attempt["violations"])
                self.malformed += "malformed" in attempt
            if not attempts[-1]["violations"] and "malformed" not in attempts[-1]:
                self.first += len(attempts) == 1
                self.retried += len(attempts) > 1
            elif len(attempts) >= ALL_ATTEMPTS or (event, generation + 1) in groups:
                self.rejected += 1
            # else: planning was stopped between two attempts, which says nothing about the edit set


def statistics(folder: str | os.PathLike[str]) -> CheckStatistics:
    """Every plan under `folder`, finished or not. Other JSON files are no plans; broken ones are named."""
    folder = Path(folder)
    if not folder.is_dir():
        raise PhysPlanError(f"{folder} is not a folder: give the folder that holds the plans.")
    result = CheckStatistics()
    for path in sorted(folder.rglob("*.json")):
        if path.name.startswith("."):
            continue  # a write that was cut off
        try:
            value = parse_json(read_file(path, limit=Limits.FILE.max_bytes), Limits.FILE)
            if not (isinstance(value, dict) and "events" in value and "provenance" in value):
                continue
            checks = value["provenance"].get("checks", [])
            CheckStatistics().add(checks)  # a broken plan must not be counted by half
            result.add(checks)
            result.plans += 1
        except (OSError, PhysPlanError, GraphError, KeyError, TypeError, AttributeError):
            result.skipped.append(str(path))
    if not result.plans:
        raise PhysPlanError(
            f"There are no plans in {folder}: make some with physplan plan -o {folder}/NAME.json."
        )
    return result


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
