"""VideoPhy-2's AutoEval: adherence, commonsense, joint, by a judge or from recorded scores."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import add_engine, add_output, emit, make_parser, measure, work_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = """\
  physplan evaluate videophy2 --videos sa_pc.csv --judge server:videophy2@http://localhost:8000/v1 \\
      --template VIDEOPHY2/template.py --prompts prompts.csv          ask a judge; hard subset too
  physplan evaluate videophy2 --sa output_sa.csv --pc output_pc.csv   what AutoEval's own code has written
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "videophy2", __doc__, EXAMPLES, run)
    parser.add_argument("--videos", type=Path, metavar="FILE.csv", help="with caption and videopath")
    parser.add_argument("--judge", metavar="JUDGE", help="gemini:MODEL, openai:MODEL or server:MODEL@URL")
    parser.add_argument(
        "--template", type=Path, metavar="FILE", help="the benchmark's template.py: its wording, never run"
    )
    parser.add_argument("--frames", type=int, default=32, metavar="N", help="frames shown to the judge (32)")
    parser.add_argument("--budget", type=float, metavar="USD", help="of the judge")
    parser.add_argument("--sa", type=Path, metavar="FILE.csv", help="recorded semantic adherence")
    parser.add_argument("--pc", type=Path, metavar="FILE.csv", help="recorded physical commonsense")
    parser.add_argument("--prompts", type=Path, metavar="FILE.csv", help="with caption and --hard-column")
    parser.add_argument("--hard-column", default="is_hard", metavar="NAME", help="1 for the hard subset")
    add_engine(parser)
    add_output(parser, reported=False)
    parser.add_argument("--label", default="this run", help="the name of the row in the table")


def run(args: argparse.Namespace) -> int:
    from physplan_bench import videophy2

    hard = videophy2.read_hard(args.prompts, args.hard_column) if args.prompts else None
    if args.videos and args.judge and not (args.sa or args.pc):
        return _judge(args, hard)
    if not (args.sa and args.pc) or args.videos or args.judge:
        raise PhysPlanError("Give --videos and --judge to ask a judge, or --sa and --pc for recorded scores.")
    records = videophy2.joint_records(videophy2.read_pairs(args.sa, args.pc), hard, args.label)
    result = videophy2.summarise(records)
    return emit(args, result, videophy2.table(result, args.label))


def _judge(args: argparse.Namespace, hard: Mapping[str, bool] | None) -> int:
    from physplan_bench.videophy2_judge import OURS, Judge, JudgeConfig, VideoPhy2, read_template, read_videos

    if args.frames < 2:
        raise PhysPlanError(f"--frames is {args.frames}: a judge needs at least two.")
    questions = read_template(args.template) if args.template else OURS
    config = JudgeConfig(judge=args.judge, frames=args.frames, questions=questions)
    videos = read_videos(args.videos)
    with work_folder(args) as args.work:  # the judge's answers are stored there too
        make_judge = partial(Judge.connect, config, args.work / "calls", args.budget)
        return measure(
            args, VideoPhy2(videos=videos, config=config, make_judge=make_judge, label=args.label, hard=hard)
        )
