"""`physplan evaluate status`"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from physplan.cli.evaluate.common import make_parser

EXAMPLES = """\
  physplan evaluate status iq.cases              how far a benchmark is, and the means of what it has so far
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(
        subparsers,
        "status",
        help="partial results of a running or stopped benchmark",
        examples=EXAMPLES,
        run=run,
    )
    parser.add_argument("work", type=Path, metavar="DIR", help="the --work folder of a benchmark")
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> int:
    from physplan.errors import PhysPlanError
    from physplan.evaluation.cases import CaseStore

    if not args.work.is_dir():
        raise PhysPlanError(f"There is no folder {args.work}.")
    store = CaseStore(args.work)
    cases = store.manifest()
    states = Counter(store.state(case) for case in cases)
    records = [record for case in cases if (record := store.result(case)) is not None]
    numbers: dict[str, list[float]] = {}
    for record in records:
        _collect("", record["result"], numbers)
    means = {name: sum(values) / len(values) for name, values in sorted(numbers.items())}
    seconds = [record["seconds"] for record in records]
    status = {
        "cases": len(cases),
        **{state: states[state] for state in ("done", "running", "missing")},
        "seconds_per_case": sum(seconds) / len(seconds) if seconds else None,
        "means": means,
    }
    if args.json:
        print(json.dumps(status, indent=2))
        return 0
    running, missing = states["running"], states["missing"]
    print(f"{len(records)} of {len(cases)} cases done, {running} running, {missing} missing")
    for name, mean in means.items():
        print(f"  {name:40} {mean:.4g}")
    return 0


def _collect(prefix: str, value: Any, numbers: dict[str, list[float]]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _collect(f"{prefix}.{key}" if prefix else str(key), inner, numbers)
    elif isinstance(value, int | float):
        numbers.setdefault(prefix, []).append(float(value))
