"""Compare the methods in the embedded world, where the truth is known."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from physplan.cli.parsers import add_set
from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import add_engine, add_output, make_parser, measure

if TYPE_CHECKING:
    from physplan_bench.sandbox.arms import Arm

EXAMPLES = """\
  physplan evaluate sandbox --quick --workers 2 --plot quick.png
  physplan evaluate sandbox --workers 2 -o study.json --plot study.png       the four methods
  physplan evaluate sandbox --baselines --attempts --workers 2 -o more.json  storyboard, best of N, ...
  physplan evaluate sandbox --ablations --modes --workers 2 -o full.json     with (i) to (viii)
  physplan evaluate sandbox --methods guided_sketch no_depth --subset hiding      where depth has work to do
  physplan evaluate sandbox --methods physplan physplan.no_depth --subset depth-term --scenes 40
  physplan evaluate sandbox --methods sketch guided_sketch --subset hard-to-draw --scenes 60
  physplan evaluate sandbox --methods physplan physplan.no_regions physplan.no_keep --subset crowded
  physplan evaluate sandbox --levels 0 1 2 3 --plot curve.png                as the image editor gets worse
  physplan evaluate sandbox --split validation --methods guided_sketch --set guided_sketch.step_size=2
"""
SUBSETS = (
    *("all", "crowded", "moving", "hiding", "half-hidden", "hard-to-draw"),
    *("appearance-term", "extent-term", "position-term", "depth-term"),
)
QUICK = {"scenes": 25, "seeds": 1}


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "sandbox", __doc__, EXAMPLES, run)
    parser.add_argument("--quick", action="store_true", help="25 scenes and one seed: minutes on two cores")
    parser.add_argument("--scenes", type=int, metavar="N", help="number of scenes (default 60)")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds per scene (default 3)")
    parser.add_argument("--split", default="test", choices=("test", "validation", "train"))
    parser.add_argument("--first", type=int, metavar="N", help="number of the first scene (default 800)")
    parser.add_argument(
        "--subset",
        default="all",
        choices=SUBSETS,
        help="only scenes with many things, with things that move, that hide each other, with a mover"
        " that is half hidden at first, whose sketch is wrong, or whose plan selects a term",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="NAME",
        help="for example base sketch guided_sketch:exact no_regions sketch:3",
    )
    parser.add_argument(
        "--baselines",
        action="store_true",
        help="add the storyboard, whole-keyframe sketches, the best of N unguided videos, and the truth",
    )
    parser.add_argument(
        "--attempts", action="store_true", help="add up to three attempts until the verdict holds"
    )
    parser.add_argument("--modes", action="store_true", help="add the other gradient modes")
    parser.add_argument(
        "--ablations", action="store_true", help="add the ablations (i) to (viii), no_keep and no_motion"
    )
    parser.add_argument(
        "--levels",
        nargs="+",
        type=int,
        metavar="L",
        help="the editor's error levels, 0 (truth) to 4 (default 1)",
    )
    add_set(parser, "change settings of the sandbox preset")
    parser.add_argument("--keep-videos", action="store_true", help="keep every video in the --work folder")
    add_engine(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    from physplan.extras import need_extra
    from physplan.pipeline.config_loading import load_config, read_assignments

    need_extra("cv2", extra="eval")
    arms, settings = read_arms(args), read_assignments(args.set)
    load_config("sandbox", settings)  # what is misspelt is answered before torch is loaded
    from physplan_bench.sandbox.benchmark import SandboxStudy
    from physplan_bench.sandbox.table import draw

    chosen = {"scenes": args.scenes, "seeds": args.seeds, "first": args.first}
    fields = {**(QUICK if args.quick else {}), **{k: v for k, v in chosen.items() if v is not None}}
    study = SandboxStudy.of_preset(
        settings,
        arms=arms,
        split=args.split,
        subset=args.subset,
        keep_videos=args.keep_videos or args.page is not None,
        **fields,
    )
    return measure(args, study, draw=draw)


def read_arms(args: argparse.Namespace) -> tuple[Arm, ...]:
    from physplan_bench.sandbox import arms

    found = list(arms.arms(*args.methods) if args.methods else arms.MAIN_ARMS)
    found += arms.BASELINE_ARMS if args.baselines else ()
    found += arms.ATTEMPT_ARMS if args.attempts else ()
    found += arms.MODE_ARMS if args.modes else ()
    found += arms.ABLATION_ARMS if args.ablations else ()
    if args.levels:
        named = [arm.name for arm in arms.arms(*args.methods or ()) if arm.tries > 1 and arm.sees_keyframes]
        leveled = dict.fromkeys(arm.name for arm in found if arm.has_levels or arm.name in named)
        if not leveled:
            raise PhysPlanError(
                "--levels needs a method that sees keyframes among --methods, say guided_sketch."
            )
        found = [arm for arm in found if arm.name not in leveled or arm.level in args.levels]
        found += arms.arms(*leveled, levels=args.levels)
    return tuple(dict.fromkeys(found))
