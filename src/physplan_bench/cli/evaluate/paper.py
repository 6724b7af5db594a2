"""A table of the paper, as reported there."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

EXAMPLES = """\
  physplan evaluate paper physics-iq
  physplan evaluate paper vbench --format latex
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "paper", __doc__, EXAMPLES, run)
    parser.add_argument(
        "table", help="physics-iq, ablation, phygenbench, vbench, frechet, checks, failures, cost-*"
    )
    add_output(parser, plot=False, reported=False, page=False)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.paper_tables import reported_table

    table = reported_table(args.table)
    columns = [column.title for column in table.columns]
    rows = [asdict(row) for row in table.rows]
    return emit(args, {"benchmark": "paper", "table": args.table, "columns": columns, "rows": rows}, table)
