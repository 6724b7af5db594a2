"""`physplan evaluate fid` and `physplan evaluate fvd`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan_bench.cli.evaluate.common import add_engine, add_output, make_parser, measure

FID_EXAMPLES = """\
  physplan evaluate fid --generated videos/ --real reference/ --extractor inception:inception.pth
  physplan evaluate fid --generated videos/ --real reference/ --extractor dinov2:facebook/dinov2-base
"""
FVD_EXAMPLES = """\
  physplan evaluate fvd --generated videos/ --real reference/ --extractor videomae:path/to/videomae-ssv2
  physplan evaluate fvd --generated videos/ --real reference/ --extractor my_i3d:load --seed 1

One contiguous clip of each video, drawn by --seed and the video's name; every video counts once.
"""


def add_parser(subparsers: Any) -> None:
    fid = make_parser(subparsers, "fid", "Frechet distance between frames", FID_EXAMPLES, run)
    fvd = make_parser(subparsers, "fvd", "Frechet distance between clips", FVD_EXAMPLES, run)
    fid.set_defaults(kind="frame")
    fvd.set_defaults(kind="clip", frames_per_video=0)
    fid.add_argument(
        "--frames-per-video",
        type=int,
        default=16,
        metavar="N",
        help="evenly spaced; 0 takes all (default 16)",
    )
    for parser in (fid, fvd):
        parser.add_argument("--generated", type=Path, required=True, metavar="DIR")
        parser.add_argument(
            "--real", type=Path, required=True, metavar="DIR", help="the reference set; name it"
        )
        parser.add_argument("--extractor", required=True, metavar="NAME:MODEL")
        parser.add_argument("--seed", type=int, default=0)
        add_engine(parser)
        add_output(parser, plot=False)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.frechet.benchmark import Frechet, FrechetConfig

    config = FrechetConfig(
        kind=args.kind, extractor=args.extractor, seed=args.seed, frames_per_video=args.frames_per_video
    )
    return measure(args, Frechet(generated=args.generated, real=args.real, config=config))
