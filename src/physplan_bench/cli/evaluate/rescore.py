"""Judge the videos of old runs anew, without making them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan_bench.cli.evaluate.common import add_engine, add_output, make_parser, measure

EXAMPLES = """\
  physplan evaluate rescore runs/ -o again.json                     the verdict of today on old videos
  physplan evaluate rescore videos.cases/ --judge gemini:MODEL      and a judge's answers beside it
  physplan evaluate compare before.json again.json --page changed   what was won and lost
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "rescore", __doc__, EXAMPLES, run)
    parser.add_argument("runs", type=Path, nargs="+", metavar="DIR", help="runs, or folders of runs")
    parser.add_argument("--preset", metavar="NAME", help="whose perception (default: each run's own)")
    parser.add_argument("--judge", metavar="JUDGE", help="gemini:MODEL, openai:MODEL or server:MODEL@URL")
    parser.add_argument("--budget", type=float, metavar="USD", help="of the judge")
    add_engine(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.rescoring import Rescore, find_runs, named_runs

    runs = named_runs(find_runs(args.runs))
    return measure(args, Rescore(runs=runs, preset=args.preset, judge=args.judge, budget=args.budget))
