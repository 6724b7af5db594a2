"""`physplan evaluate physics-iq`"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan.cli.evaluate.common import (
    add_engine,
    add_generation,
    add_output,
    make_parser,
    measure,
    run_generation,
)
from physplan.errors import PhysPlanError

EXAMPLES = """\
  physplan evaluate physics-iq --generated videos/ --real benchmark/ --descriptions descriptions.csv
  physplan evaluate physics-iq ... -o iq.json --workers 8 --reported --plot iq.png
  physplan evaluate physics-iq ... --protocol verified
  physplan evaluate physics-iq --generate paper --method base --seed 1 --generated videos/ --real bench/ \\
      --descriptions descriptions.csv          make the 198 videos first, with a preset
  physplan evaluate physics-iq --generate my_model:load --size 480x720 --generate-only ...    or another model
  physplan evaluate physics-iq ... --exact      without the official code's lossy masks and rounding
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(
        subparsers,
        "physics-iq",
        help="score 198 generated videos against the two real takes of Physics-IQ",
        examples=EXAMPLES,
        run=run,
    )
    parser.add_argument(
        "--generated", type=Path, required=True, metavar="DIR", help="198 videos, 0001_*.mp4 ..."
    )
    parser.add_argument("--real", type=Path, metavar="DIR", help="the benchmark, or its videos")
    parser.add_argument("--descriptions", type=Path, required=True, metavar="CSV", help="descriptions.csv")
    parser.add_argument("--protocol", default="original", choices=("original", "verified"))
    parser.add_argument(
        "--exact",
        action="store_true",
        help="masks as they were made and nothing rounded, instead of the official number",
    )
    add_generation(parser)
    parser.add_argument("--generate-only", action="store_true", help="make the videos, do not score them")
    parser.add_argument(
        "--switch-frames", type=Path, metavar="DIR", help="the first frames (default: those in --real)"
    )
    add_engine(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    from physplan.evaluation.physics_iq.benchmark import PhysicsIQ, PhysicsIQConfig
    from physplan.evaluation.physics_iq.dataset import load_videos
    from physplan.extras import need_extra

    need_extra("cv2", extra="eval")
    official = not args.exact
    config = PhysicsIQConfig(protocol=args.protocol, lossy_masks=official, official_rounding=official)
    if args.reported and not config.comparable:
        raise PhysPlanError(
            "The paper reports the official number of the original protocol: leave out --reported, or "
            "--exact and --protocol verified."
        )
    if args.real is None and not (args.generate_only and args.switch_frames):
        raise PhysPlanError("Give --real: the folder of the benchmark, with its real videos.")
    if args.generate:
        make_videos(args)
        if args.shard or args.generate_only:
            return 0
    elif args.generate_only:
        raise PhysPlanError("--generate-only needs --generate: a preset, a config file or module:function.")
    videos = load_videos(args.generated, args.real, args.descriptions)
    return measure(args, PhysicsIQ(videos=videos, config=config))


def make_videos(args: argparse.Namespace) -> None:
    """All 198 from the switch frames and descriptions, as far as they are missing."""
    from physplan.evaluation.generation import Wanted
    from physplan.evaluation.physics_iq.dataset import (
        SECONDS,
        check_generation_rows,
        find_switch_frames,
        read_descriptions,
    )

    scenes = read_descriptions(args.descriptions)
    check_generation_rows(args.descriptions, scenes)
    frames = find_switch_frames(args.switch_frames or args.real, scenes)
    wanted = [
        Wanted(name=s.id, first_frame=frames[s.id], prompt=s.description, file=s.generated_name)
        for s in scenes
    ]
    run_generation(args, wanted, args.generated, seconds=SECONDS)
