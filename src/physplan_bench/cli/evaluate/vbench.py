"""VBench's quality dimensions and Quality Score."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import add_engine, add_output, make_parser, measure

EXAMPLES = """\
  physplan evaluate vbench --results eval_results.json --reported
  physplan evaluate vbench --videos videos/                           temporal flickering only
  physplan evaluate vbench --videos videos/ --use subject_consistency=facebook/dino-vitb16 \\
      --use background_consistency=openai/clip-vit-base-patch32 --use motion_smoothness=my_amt:load \\
      --results the_rest.json

A dimension that is measured here replaces the same one of --results. The Quality Score needs all seven.
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "vbench", __doc__, EXAMPLES, run)
    parser.add_argument(
        "--results", type=Path, nargs="+", default=[], metavar="FILE", help="official result files"
    )
    parser.add_argument("--videos", type=Path, metavar="DIR", help="measure the videos of this folder")
    parser.add_argument(
        "--use",
        action="append",
        default=[],
        metavar="DIMENSION=MODEL",
        help="measure a dimension with a model, or with module:function",
    )
    add_engine(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.vbench.benchmark import VBench
    from physplan_bench.vbench.score import read_results
    from physplan_bench.videos import find_videos

    if not (args.videos or args.results):
        raise PhysPlanError("Give --videos DIR to measure, --results FILE to read, or both.")
    known = {name: value for path in args.results for name, value in read_results(path).items()}
    measures = {"temporal_flickering": "pixels", **read_specs(args.use)} if args.videos else {}
    videos = find_videos(args.videos) if args.videos else ()
    files = tuple(path.name for path in args.results)
    return measure(args, VBench(videos=tuple(videos), measures=measures, known=known, files=files))


def read_specs(given: list[str]) -> dict[str, str]:
    from physplan_bench.vbench.score import check_dimension

    specs = {}
    for text in given:
        name, equals, spec = text.partition("=")
        if not equals or not spec:
            raise PhysPlanError(f"--use {text!r} is not DIMENSION=MODEL.")
        specs[check_dimension(name)] = spec
    return specs
