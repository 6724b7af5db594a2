"""The deterministic checks over all plans of a folder, or of run folders."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

EXAMPLES = """\
  physplan evaluate checks plans/ --reported       how many edit sets pass, and which checks they violate
  physplan evaluate checks videos.cases/ -o checks.json
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "checks", __doc__, EXAMPLES, run)
    parser.add_argument("folder", type=Path, metavar="DIR", help="plans, run folders, or folders of them")
    add_output(parser, page=False)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.checks import make_table, summarise

    result = summarise(args.folder)
    return emit(args, result, make_table(result, args.label))
