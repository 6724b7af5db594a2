"""Count the terms that call a true frame of the embedded world wrong."""

from __future__ import annotations

import argparse
from typing import Any

from physplan_bench.cli.evaluate.common import add_scenes, make_parser, measure_scenes

EXAMPLES = """\
  physplan evaluate terms --scenes 8
  physplan evaluate terms --levels 0 1 2 3 --scenes 24 --workers 2 -o terms.json --format markdown
  physplan evaluate terms --split validation --first 540 --set guided_sketch.measure.threshold=0.55
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "terms", __doc__, EXAMPLES, run)
    parser.add_argument(
        "--levels", nargs="+", type=int, default=[1, 3], metavar="L", help="the editor's levels (default 1 3)"
    )
    parser.add_argument(
        "--method",
        default="guided_sketch",
        choices=("guided_sketch", "physplan"),
        help="whose terms: each has its own settings of measure (default guided_sketch)",
    )
    add_scenes(parser, scenes=24, first=1800)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.sandbox.terms import TermStudy

    return measure_scenes(args, TermStudy, levels=tuple(dict.fromkeys(args.levels)), method=args.method)
