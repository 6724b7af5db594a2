"""`physplan evaluate terms`."""

from __future__ import annotations

import argparse
from typing import Any

from physplan_bench.cli.evaluate.common import add_engine, add_output, make_parser, measure

EXAMPLES = """\
  physplan evaluate terms --scenes 8
  physplan evaluate terms --levels 0 1 2 3 --scenes 24 --workers 2 -o terms.json --format markdown
  physplan evaluate terms --split validation --first 540 --set guided_sketch.measure.threshold=0.55
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(
        subparsers,
        "terms",
        help="count the terms that call a true frame of the embedded world wrong",
        examples=EXAMPLES,
        run=run,
    )
    parser.add_argument("--scenes", type=int, default=24, metavar="N", help="number of scenes (default 24)")
    parser.add_argument("--split", default="test", choices=("test", "validation", "train"))
    parser.add_argument("--first", type=int, default=1800, metavar="N", help="the first scene (default 1800)")
    parser.add_argument(
        "--levels", nargs="+", type=int, default=[1, 3], metavar="L", help="the editor's levels (default 1 3)"
    )
    parser.add_argument(
        "--method",
        default="guided_sketch",
        choices=("guided_sketch", "physplan"),
        help="whose terms: each has its own settings of measure (default guided_sketch)",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="of the sandbox preset"
    )
    add_engine(parser)
    add_output(parser, plot=False, reported=False)
    parser.set_defaults(label="")


def run(args: argparse.Namespace) -> int:
    from physplan.pipeline.config_loading import read_assignments
    from physplan_bench.sandbox.terms import TermStudy

    study = TermStudy.of_preset(
        read_assignments(args.set),
        scenes=args.scenes,
        split=args.split,
        first=args.first,
        levels=tuple(dict.fromkeys(args.levels)),
        method=args.method,
    )
    return measure(args, study)
