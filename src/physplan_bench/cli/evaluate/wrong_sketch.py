"""Spoil one property of the sketch and see which terms mend it."""

from __future__ import annotations

import argparse
from typing import Any

from physplan_bench.cli.evaluate.common import add_scenes, make_parser, measure_scenes

TERMS = ("position", "extent", "appearance", "count", "depth")
EXAMPLES = """\
  physplan evaluate wrong-sketch --scenes 4 --terms position --diagonal
  physplan evaluate wrong-sketch --scenes 60 --workers 2 --work study -o wrong.json --format markdown
  physplan evaluate wrong-sketch --set guided_sketch.step_size=3 --set guided_sketch.weak=0.3
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "wrong-sketch", __doc__, EXAMPLES, run)
    parser.add_argument("--terms", nargs="+", default=TERMS, choices=TERMS, help="default: all five")
    parser.add_argument(
        "--diagonal", action="store_true", help="leave out the term of the spoilt property only: faster"
    )
    add_scenes(parser, scenes=20, first=1900, what="for each term")


def run(args: argparse.Namespace) -> int:
    from physplan_bench.sandbox.wrong_sketch_study import WrongSketchStudy

    return measure_scenes(args, WrongSketchStudy, terms=tuple(args.terms), diagonal=args.diagonal)
