"""`physplan evaluate paper`"""

from __future__ import annotations

import argparse
from typing import Any

from physplan.cli.evaluate.common import make_parser

EXAMPLES = """\
  physplan evaluate paper physics-iq
  physplan evaluate paper vbench --format latex
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(
        subparsers, "paper", help="a table of the paper, as reported there", examples=EXAMPLES, run=run
    )
    parser.add_argument("table", help="physics-iq, ablation, phygenbench, vbench, frechet, failures, cost-*")
    parser.add_argument("--format", default="text", choices=("text", "markdown", "latex", "csv"))


def run(args: argparse.Namespace) -> int:
    from physplan.evaluation.reported import reported_table
    from physplan.evaluation.tables import render

    print(render(reported_table(args.table), args.format), end="")
    return 0
