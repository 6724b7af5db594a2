"""`physplan evaluate wrong-sketch`."""

from __future__ import annotations

import argparse
from typing import Any

from physplan_bench.cli.evaluate.common import add_engine, add_output, make_parser, measure

TERMS = ("position", "extent", "appearance", "count", "depth")
EXAMPLES = """\
  physplan evaluate wrong-sketch --scenes 4 --terms position --diagonal
  physplan evaluate wrong-sketch --scenes 60 --workers 2 --work study -o wrong.json --format markdown
  physplan evaluate wrong-sketch --set guided_sketch.step_size=3 --set guided_sketch.weak=0.3
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(
        subparsers,
        "wrong-sketch",
        help="spoil one property of the sketch and see which terms mend it",
        examples=EXAMPLES,
        run=run,
    )
    parser.add_argument("--scenes", type=int, default=20, metavar="N", help="for each term (default 20)")
    parser.add_argument("--terms", nargs="+", default=TERMS, choices=TERMS, help="default: all five")
    parser.add_argument(
        "--diagonal", action="store_true", help="leave out the term of the spoilt property only: faster"
    )
    parser.add_argument("--split", default="test", choices=("test", "validation", "train"))
    parser.add_argument("--first", type=int, default=1900, metavar="N", help="the first scene (default 1900)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="of the sandbox preset"
    )
    add_engine(parser)
    add_output(parser, plot=False, reported=False)
    parser.set_defaults(label="")


def run(args: argparse.Namespace) -> int:
    from physplan.pipeline.config_loading import read_assignments
    from physplan_bench.sandbox.wrong_sketch_study import WrongSketchStudy

    study = WrongSketchStudy.of_preset(
        read_assignments(args.set),
        scenes=args.scenes,
        split=args.split,
        first=args.first,
        terms=tuple(args.terms),
        diagonal=args.diagonal,
    )
    return measure(args, study)
