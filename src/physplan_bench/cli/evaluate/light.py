"""Shadows, reflections and lamplight: right, missing or left behind."""

from __future__ import annotations

import argparse
from typing import Any

from physplan_bench.cli.evaluate.common import add_scenes, make_parser, measure_scenes

EXAMPLES = """\
  physplan evaluate light --scenes 4
  physplan evaluate light --scenes 60 --workers 2 --work study -o light.json --format markdown
  physplan evaluate light --methods storyboard sketch guided_sketch:lit --set guided_sketch.weak=0.4
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "light", __doc__, EXAMPLES, run)
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="truth, or a method (default: truth storyboard sketch); :lit behind it takes the drawing network"
        " that was fine-tuned on lit clips",
    )
    add_scenes(parser, scenes=40, first=2100)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.sandbox.light_study import ARMS, LightStudy

    return measure_scenes(args, LightStudy, arms=tuple(args.methods or ARMS))
