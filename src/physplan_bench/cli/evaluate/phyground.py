"""Rate videos of PhyGround's prompts, or hold our verdict against its human ratings."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import (
    add_engine,
    add_generation,
    add_output,
    emit,
    make_parser,
    make_videos,
    measure,
    measure_methods,
    work_folder,
)

if TYPE_CHECKING:
    from physplan_bench.phyground.benchmark import PhyGround
    from physplan_bench.phyground.dataset import Prompt
    from physplan_bench.records import Record

EXAMPLES = """\
  physplan evaluate phyground --data phyground/ --generate home --videos videos/        make the 250 videos
  physplan evaluate phyground --data phyground/ --videos videos/ --judge gemini:MODEL -o pg.json
  physplan evaluate phyground --data phyground/ --videos videos/ --template subq+human.yaml \\
      --judge openai:phyjudge@http://localhost:29673/v1                                 the released judge
  physplan evaluate phyground --data phyground/ --humans                                people's ratings
  physplan evaluate phyground --data phyground/ --calibrate-verify open --videos public/   our verdict beside
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "phyground", __doc__, EXAMPLES, run)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="PhyGround's data folder")
    parser.add_argument("--videos", type=Path, metavar="DIR", help="NAME.mp4 of every prompt")
    parser.add_argument("--judge", metavar="JUDGE", help="gemini:MODEL or openai:MODEL[@URL]")
    parser.add_argument(
        "--template",
        type=Path,
        metavar="FILE",
        help="the benchmark's own wording (its YAML, or all questions as JSON)",
    )
    parser.add_argument("--frames", type=int, default=16, metavar="N", help="frames shown to the judge (16)")
    parser.add_argument("--humans", action="store_true", help="the published human ratings as rows")
    parser.add_argument(
        "--calibrate-verify",
        metavar="PRESET",
        help="our verdict on the public videos in --videos (a folder per model) against the human ratings",
    )
    add_generation(parser)
    add_engine(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.phyground.dataset import read_prompts

    prompts = read_prompts(args.data)
    if args.humans:
        return _humans(args)
    if args.videos is None:
        raise PhysPlanError("Give --videos: the folder of the videos, or --humans for people's ratings.")
    if args.calibrate_verify:
        return _calibrate(args, prompts)
    if args.generate:
        _generate(args, prompts)
        if args.judge is None:
            return 0
    if args.judge is None:
        raise PhysPlanError("Give --judge: gemini:MODEL or openai:MODEL[@URL].")
    return _judge(args, prompts)


def _generate(args: argparse.Namespace, prompts: list[Prompt]) -> None:
    from physplan_bench.generation import Wanted
    from physplan_bench.phyground.dataset import find_first_frames

    frames = find_first_frames(args.data, prompts)
    wanted = [
        Wanted(name=one.video, first_frame=frames[one.video], prompt=one.text, file=f"{one.video}.mp4")
        for one in prompts
    ]
    make_videos(args, wanted, args.videos)


def _judge(args: argparse.Namespace, prompts: list[Prompt]) -> int:
    from physplan_bench.phyground.benchmark import JudgeConfig, PhyGround
    from physplan_bench.phyground.judging import Judge
    from physplan_bench.phyground.templates import Templates, read_templates

    if args.frames < 2:
        raise PhysPlanError(f"--frames is {args.frames}: a judge needs at least two.")
    templates = read_templates(args.template) if args.template else Templates()
    config = JudgeConfig(judge=args.judge, frames=args.frames, templates=templates)
    with work_folder(args) as args.work:  # the judge's answers are stored there too
        make_judge = partial(Judge.connect, args.judge, args.work / "calls", args.budget, templates)
        benchmark = PhyGround(prompts=prompts, videos=args.videos, config=config, make_judge=make_judge)
        return _judge_methods(args, benchmark) if args.methods else measure(args, benchmark)


def _judge_methods(args: argparse.Namespace, bench: PhyGround) -> int:
    """--methods: a row each, and their paired differences."""
    from physplan_bench.pairs import pairs_table
    from physplan_bench.phyground.benchmark import row_table

    def show(results: dict[str, Any], records: list[Record]) -> int:
        rows = {method: result["row"] for method, result in results.items()}
        table = row_table(rows, f"Judge: {bench.config.judge}.")
        paired = [found] if (found := pairs_table(records)) else []
        return emit(args, {"benchmark": bench.name, "methods": results}, table, *paired, records=records)

    return measure_methods(args, args.videos, lambda folder: replace(bench, videos=folder), show)


def _humans(args: argparse.Namespace) -> int:
    from physplan_bench.phyground.aggregate import human_scores, model_row
    from physplan_bench.phyground.benchmark import row_table
    from physplan_bench.phyground.dataset import read_ratings
    from physplan_bench.provenance import provenance

    rows = {model: model_row(videos) for model, videos in human_scores(read_ratings(args.data)).items()}
    result = {
        "benchmark": "phyground",
        "provenance": provenance(protocol="phyground", judge="people", settings={}),
        "rows": rows,
    }
    return emit(args, result, row_table(rows, "Published human ratings: means over people, then videos."))


def _calibrate(args: argparse.Namespace, prompts: list[Prompt]) -> int:
    from physplan.pipeline.config_loading import read_assignments
    from physplan_bench.phyground.aggregate import human_scores
    from physplan_bench.phyground.dataset import find_first_frames, read_ratings
    from physplan_bench.phyground.verifying import CalibrateVerify

    benchmark = CalibrateVerify(
        prompts=prompts,
        first_frames=find_first_frames(args.data, prompts),
        videos=args.videos,
        human=human_scores(read_ratings(args.data)),
        preset=args.calibrate_verify,
        overrides=read_assignments(args.set),
    )
    return measure(args, benchmark)
