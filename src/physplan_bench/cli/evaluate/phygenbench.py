"""Judge the videos of PhyGenBench, or add up recorded stage scores."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import (
    add_engine,
    add_generation,
    add_output,
    cases_of,
    chosen_generator,
    emit,
    engine_config,
    make_parser,
    make_videos,
    measure,
    measure_methods,
    show_progress,
    work_folder,
)

if TYPE_CHECKING:
    from physplan_bench.phygenbench.benchmark import PhyGenBench
    from physplan_bench.records import Record

EXAMPLES = """\
  physplan evaluate phygenbench --scores recorded.json --reported
  physplan evaluate phygenbench --data PhyGenBench/ --first-frames frames/ --image-model MODEL
  physplan evaluate phygenbench --data PhyGenBench/ --first-frames frames/ --image-model MODEL \\
      --generate paper --method physplan --videos videos/           from the prompts to the videos
  physplan evaluate phygenbench ... --generate paper --methods physplan frame_guidance --videos arms/
  physplan evaluate phygenbench --data PhyGenBench/ --videos videos/ --clip openai/clip-vit-large-patch14 \\
      --vqa Salesforce/blip2-flan-t5-xxl --closed openai:gpt-4o --open openai:llava@http://localhost:8000/v1

The judges move the result by about 0.08, so every result names them. --scores takes a JSON list of entries
with main_category, sub_category, single, multi_gpt, multi_llava, video_gpt and video_intern.
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "phygenbench", __doc__, EXAMPLES, run)
    parser.add_argument("--scores", type=Path, metavar="FILE", help="recorded stage scores: only add them up")
    parser.add_argument("--data", type=Path, metavar="DIR", help="PhyGenBench's question files")
    parser.add_argument(
        "--videos", type=Path, metavar="DIR", help="output_video_1.mp4 to output_video_160.mp4"
    )
    parser.add_argument("--first-frames", type=Path, metavar="DIR", help="the folder of the first frames")
    parser.add_argument(
        "--image-model", metavar="MODEL[@URL]", help="the Gemini model that draws those that are missing"
    )
    judges = parser.add_argument_group("judges")
    judges.add_argument("--closed", metavar="JUDGE", help="gemini:MODEL or openai:MODEL[@URL]")
    judges.add_argument("--open", metavar="JUDGE", help="the open model that judges the order")
    judges.add_argument("--open-choice", default="clip", metavar="JUDGE", help="naturalness; default: clip")
    judges.add_argument("--clip", metavar="MODEL", help="a CLIP model, folder or hub name")
    judges.add_argument("--vqa", metavar="MODEL", help="a BLIP-2 model with T5, folder or hub name")
    judges.add_argument(
        "--official-quirks", action="store_true", help="score as the official scripts do, faults too"
    )
    add_generation(parser)
    add_engine(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    if args.scores:
        from physplan_bench.phygenbench.benchmark import add_up, pca_table

        result = add_up(args.scores)
        return emit(args, result, pca_table(result, args.label))
    return prepare(args) if args.first_frames or args.generate else judge(args)


def judge(args: argparse.Namespace) -> int:
    needed = {"--data": args.data, "--videos": args.videos, "--closed": args.closed, "--open": args.open}
    _require({**needed, "--clip": args.clip, "--vqa": args.vqa})
    from physplan_bench.phygenbench.benchmark import JudgeConfig, PhyGenBench, build_judges
    from physplan_bench.phygenbench.dataset import load_entries

    config = JudgeConfig(
        clip=args.clip,
        vqa=args.vqa,
        closed=args.closed,
        open_order=args.open,
        open_choice=args.open_choice,
        official_quirks=args.official_quirks,
    )
    entries = load_entries(args.data, official_quirks=args.official_quirks)
    with work_folder(args) as args.work:  # the judges' answers are stored there too
        make_judges = partial(build_judges, config, args.work / "calls", args.budget)
        bench = PhyGenBench(entries=entries, videos=args.videos, config=config, make_judges=make_judges)
        return _judge_methods(args, bench) if args.methods else measure(args, bench)


def _judge_methods(args: argparse.Namespace, bench: PhyGenBench) -> int:
    """--methods: compared case by case."""
    from physplan_bench.arms import compare_arms, phygenbench_arms_table
    from physplan_bench.phygenbench.aggregate import MAX_SCORE

    def show(results: dict[str, Any], records: list[Record]) -> int:
        scores = {
            method: {
                entry.key: (video["final"] / MAX_SCORE, entry.key)
                for entry, video in zip(bench.entries, result["videos"], strict=True)
            }
            for method, result in results.items()
        }
        compared = compare_arms(scores)
        table = phygenbench_arms_table(results, compared)
        return emit(args, {"methods": results, **compared}, table, records=records)

    return measure_methods(args, args.videos, lambda folder: replace(bench, videos=folder), show)


def prepare(args: argparse.Namespace) -> int:
    """From the prompts to the first frames, and from these to the videos that the judges want."""
    needed = {"--data": args.data, "--first-frames": args.first_frames}
    step = {"--videos": args.videos} if args.generate else {"--image-model": args.image_model}
    _require({**needed, **step})
    from physplan_bench.generation import Wanted
    from physplan_bench.phygenbench.dataset import load_prompts
    from physplan_bench.phygenbench.first_frames import find_first_frames

    prompts = load_prompts(args.data)
    frames = draw(args, prompts) if args.image_model else {}
    if not args.generate:
        return 0
    frames = frames or find_first_frames(args.first_frames, [number for number, _ in prompts])
    wanted = [
        Wanted(name=f"{n:03d}", first_frame=frames[n], prompt=caption, file=f"output_video_{n}.mp4")
        for n, caption in prompts
    ]
    make_videos(args, wanted, args.videos)
    return 0


def draw(args: argparse.Namespace, prompts: Sequence[tuple[int, str]]) -> dict[int, Path]:
    from physplan_bench.phygenbench.first_frames import draw_first_frames
    from physplan_bench.shared_budget import open_total

    engine, total = engine_config(args), None
    if args.generate:  # a shard of the videos still needs to know all first frames: they are its identity
        chosen_generator(args, None, cases_of(args.videos))  # refused before a picture is paid for
        engine = replace(engine, shard=None)
        total = open_total(cases_of(args.videos)).path
    model, _, url = args.image_model.partition("@")
    frames = draw_first_frames(
        prompts,
        args.first_frames,
        model=model,
        base_url=url or None,
        budget=args.budget,
        total=total,
        engine=engine,
        progress=show_progress,
    )
    print(f"{len(frames)} of {len(prompts)} first frames are in {args.first_frames}.", file=sys.stderr)
    return frames


def _require(options: Mapping[str, Any]) -> None:
    missing = [name for name, value in options.items() if value is None]
    if missing:
        raise PhysPlanError(f"Give {', '.join(missing)} too, or --scores FILE to add up recorded scores.")
