"""`physplan evaluate light`."""

from __future__ import annotations

import argparse
from typing import Any

from physplan_bench.cli.evaluate.common import add_engine, add_output, make_parser, measure

EXAMPLES = """\
  physplan evaluate light --scenes 4
  physplan evaluate light --scenes 60 --workers 2 --work study -o light.json --format markdown
  physplan evaluate light --methods storyboard sketch guided_sketch:lit --set guided_sketch.weak=0.4
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(
        subparsers,
        "light",
        help="shadows, reflections and lamplight: right, missing or left behind",
        examples=EXAMPLES,
        run=run,
    )
    parser.add_argument("--scenes", type=int, default=40, metavar="N", help="number of scenes (default 40)")
    parser.add_argument("--split", default="test", choices=("test", "validation", "train"))
    parser.add_argument("--first", type=int, default=2100, metavar="N", help="the first scene (default 2100)")
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="truth, or a method (default: truth storyboard sketch); :lit behind it takes a drawing network"
        " fine-tuned on lit clips, which `python -m physplan_sandbox.train lit-drawing` makes",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="of the sandbox preset"
    )
    add_engine(parser)
    add_output(parser, plot=False, reported=False)
    parser.set_defaults(label="")


def run(args: argparse.Namespace) -> int:
    from physplan.pipeline.config_loading import read_assignments
    from physplan_bench.sandbox.light_study import ARMS, LightStudy

    study = LightStudy.of_preset(
        read_assignments(args.set),
        scenes=args.scenes,
        split=args.split,
        first=args.first,
        arms=tuple(args.methods or ARMS),
    )
    return measure(args, study)
