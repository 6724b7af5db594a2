"""Two acceptance files side by side: levels that differ, and figures with their ratio."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.accept.findings import ORDER
from physplan_bench.accept.run import SCHEMA
from physplan_bench.records import load_result
from physplan_bench.tables import Row, Table, titled


def load_acceptance(path: Path) -> dict[str, Any]:
    found = load_result(path)
    stages = found.get("stages")
    if found.get("schema") != SCHEMA or not isinstance(stages, list):
        raise PhysPlanError(f"{path} is no acceptance.json: give what `physplan accept` wrote.")
    for entry in (finding for stage in stages for finding in stage.get("findings", [])):
        if entry.get("level") not in ORDER or not isinstance(entry.get("name"), str):
            raise PhysPlanError(f"{path} has a finding that is none: give a file as it was written.")
    return found


def findings_of(result: Mapping[str, Any]) -> dict[tuple[int, str], Mapping[str, Any]]:
    return {
        (int(stage["stage"]), finding["name"]): finding
        for stage in result["stages"]
        for finding in stage["findings"]
    }


def comparison(a: Mapping[str, Any], b: Mapping[str, Any]) -> Table:
    """Only what differs: another level, or a figure that is off by more than a hundredth."""
    first, second = findings_of(a), findings_of(b)
    rows = []
    for key in sorted(first.keys() | second.keys()):
        left, right = first.get(key), second.get(key)
        values = [None if one is None else one.get("value") for one in (left, right)]
        levels = ["not there" if one is None else one["level"] for one in (left, right)]
        ratio = _ratio(*values)
        if levels[0] != levels[1] or (ratio is not None and abs(ratio - 1) > 0.01):
            rows.append(Row(label=f"{key[0]}: {key[1]}", cells=(*levels, *map(_cell, values), ratio)))
    cards = f"A: {a['preset']} on {a['card']}; B: {b['preset']} on {b['card']}."
    return Table(
        title="Two acceptances",
        columns=titled("A", "B", "A's value", "B's value", "B / A"),
        rows=tuple(rows),
        label="Stage and finding",
        note=cards if rows else f"{cards} Nothing differs.",
    )


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str) else str(value)


def _ratio(a: Any, b: Any) -> float | None:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (a, b))
    return float(b) / float(a) if numbers and a else None
