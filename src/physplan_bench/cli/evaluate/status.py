"""Partial results of a running or stopped benchmark."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

EXAMPLES = """\
  physplan evaluate status iq.cases              how far a benchmark is, and the means of what it has so far
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "status", __doc__, EXAMPLES, run)
    parser.add_argument("work", type=Path, metavar="DIR", help="the --work folder of a benchmark")
    add_output(parser, plot=False, reported=False, page=False)


def run(args: argparse.Namespace) -> int:
    from physplan.errors import PhysPlanError
    from physplan_bench.cases import CaseStore
    from physplan_bench.tables import Table, rows_of, titled

    if not args.work.is_dir():
        raise PhysPlanError(f"There is no folder {args.work}.")
    store = CaseStore(args.work)
    cases = store.manifest()
    states = Counter(store.state(case) for case in cases)
    records: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases:
        if (record := store.result(case)) is not None:
            records.setdefault(case.group, []).append(record)
    groups = {
        name: {
            "done": len(found),
            "seconds_per_case": sum(record["seconds"] for record in found) / len(found),
            "means": means(record["result"] for record in found),
        }
        for name, found in records.items()
    }
    counts = {state: states[state] for state in ("done", "running", "missing")}
    names = list(dict.fromkeys(name for group in groups.values() for name in group["means"]))
    table = Table(
        title=", ".join(
            [f"{counts['done']} of {len(cases)} cases done"]
            + [f"{counts[state]} {state}" for state in ("running", "missing")]
        ),
        label="Mean so far",
        columns=titled(*(f"{name or 'all'} (n = {group['done']})" for name, group in groups.items())),
        rows=rows_of({one: [_short(g["means"].get(one)) for g in groups.values()] for one in names}),
    )
    return emit(args, {"cases": len(cases), **counts, "groups": groups}, table)


def means(results: Iterable[Any]) -> dict[str, float]:
    """Of every number in the results, by its path in them."""
    numbers: dict[str, list[float]] = {}
    for result in results:
        _collect("", result, numbers)
    return {name: sum(values) / len(values) for name, values in sorted(numbers.items())}


def _short(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def _collect(prefix: str, value: Any, numbers: dict[str, list[float]]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _collect(f"{prefix}.{key}" if prefix else str(key), inner, numbers)
    elif isinstance(value, int | float):
        numbers.setdefault(prefix, []).append(float(value))
