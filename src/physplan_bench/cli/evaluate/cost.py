"""Time, calls, money and memory from the ledgers of runs."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

EXAMPLES = """\
  physplan evaluate cost runs/                     time per stage, calls and money, growth with the events
  physplan evaluate cost runs/ --reported          the paper's tables beside ours
  physplan evaluate cost runs/ --format latex > cost.tex
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "cost", __doc__, EXAMPLES, run)
    parser.add_argument("runs", type=Path, nargs="+", metavar="DIR", help="run folders, or folders of them")
    add_output(parser, plot=False, page=False)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.cost import call_table, read_runs, stage_table, total_table
    from physplan_bench.provenance import provenance

    runs = read_runs(args.runs)
    tables = {"cost-stages": stage_table(runs), "cost-total": total_table(runs)}
    if any(run.calls for run in runs):
        tables["cost-calls"] = call_table(runs)
    result = {
        "benchmark": "cost",
        "provenance": provenance(protocol="mean over runs", settings={"runs": len(runs)}),
        "tables": {name: [asdict(row) for row in table.rows] for name, table in tables.items()},
    }
    return emit(args, result, *tables.values())
