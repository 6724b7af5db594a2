"""`physplan evaluate videophy2`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

EXAMPLES = """\
  physplan evaluate videophy2 --sa output_sa.csv --pc output_pc.csv
  physplan evaluate videophy2 --sa output_sa.csv --pc output_pc.csv --prompts prompts.csv   and hard subset
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(
        subparsers,
        "videophy2",
        help="VideoPhy-2 from AutoEval's scores: adherence, commonsense, joint",
        examples=EXAMPLES,
        run=run,
    )
    parser.add_argument("--sa", type=Path, required=True, metavar="FILE.csv", help="semantic adherence")
    parser.add_argument("--pc", type=Path, required=True, metavar="FILE.csv", help="physical commonsense")
    parser.add_argument("--prompts", type=Path, metavar="FILE.csv", help="with caption and --hard-column")
    parser.add_argument("--hard-column", default="is_hard", metavar="NAME", help="1 for the hard subset")
    parser.add_argument("--label", default="this run", help="the name of the row in the table")
    add_output(parser, reported=False)


def run(args: argparse.Namespace) -> int:
    from physplan_bench import videophy2

    hard = videophy2.read_hard(args.prompts, args.hard_column) if args.prompts else None
    records = videophy2.joint_records(args.sa, args.pc, hard, args.label)
    result = videophy2.summarise(records)
    return emit(args, result, videophy2.table(result, args.label))
