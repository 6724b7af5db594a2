"""Score 198 generated videos against the two real takes of Physics-IQ."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import (
    add_engine,
    add_generation,
    add_output,
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
    from physplan_bench.physics_iq.benchmark import PhysicsIQConfig
    from physplan_bench.physics_iq.dataset import Scene, VideoSet
    from physplan_bench.records import Record

EXAMPLES = """\
  physplan evaluate physics-iq --generated videos/ --real benchmark/ --descriptions descriptions.csv
  physplan evaluate physics-iq ... -o iq.json --workers 8 --reported --plot iq.png
  physplan evaluate physics-iq --protocol verified --prompts bpp --descriptions descriptions/ \\
      --generated m-bpp-run_01 m-bpp-run_02 m-bpp-run_03 m-bpp-run_04 --real verified/ \\
      --card card.yaml --submission entry     four runs, mean and deviation, and the folder to hand in
  physplan evaluate physics-iq --generate paper --method base --seed 1 --generated videos/ --real bench/ \\
      --descriptions descriptions.csv          make the 198 videos first, with a preset
  physplan evaluate physics-iq --generate paper --methods physplan frame_guidance no_depth \\
      --generated arms/ --reported ...        one plan per case for all, Table 4's rows beside
  physplan evaluate physics-iq --generate my_model:load --size 480x720 --generate-only ...    or another model
  physplan evaluate physics-iq ... --exact      without the official code's lossy masks and rounding
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "physics-iq", __doc__, EXAMPLES, run)
    parser.add_argument(
        "--generated",
        type=Path,
        required=True,
        nargs="+",
        metavar="DIR",
        help="198 videos, 0001_*.mp4 ...; several folders are several runs",
    )
    parser.add_argument("--real", type=Path, metavar="DIR", help="the benchmark, or its videos")
    parser.add_argument(
        "--descriptions",
        type=Path,
        required=True,
        metavar="PATH",
        help="descriptions.csv, or the benchmark's descriptions folder",
    )
    parser.add_argument("--protocol", default="original", choices=("original", "verified"))
    _add_verified(parser)
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


def _add_verified(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Physics-IQ Verified")
    group.add_argument(
        "--prompts", choices=("bpp", "op"), help="best-practice or original prompts of a descriptions folder"
    )
    group.add_argument(
        "--template",
        metavar="TEXT",
        help="best-practice prompts in a model's own wording, of {camera} {style} {only} {setup} {scene} "
        "{action}",
    )
    group.add_argument(
        "--split",
        default="none",
        choices=("none", "original", "verified"),
        help="the data with which the settings were chosen; a score on the other carries a warning",
    )
    group.add_argument("--submission", type=Path, metavar="DIR", help="write the leaderboard's folder")
    group.add_argument("--card", type=Path, metavar="FILE", help="with --submission: your submission.yaml")


def run(args: argparse.Namespace) -> int:
    from physplan.extras import need_extra
    from physplan_bench.physics_iq.benchmark import PhysicsIQ
    from physplan_bench.physics_iq.dataset import load_videos

    need_extra("cv2", extra="eval")
    config = _config(args)
    scenes = _scenes(args)
    card = _card(args)
    if args.real is None and not (args.generate_only and args.switch_frames):
        raise PhysPlanError("Give --real: the folder of the benchmark, with its real videos.")
    if args.methods:
        return _measure_methods(args, config, scenes)
    if args.generate:
        first_seed = args.seed
        for number, folder in enumerate(args.generated):
            args.seed = first_seed + number
            generate(args, scenes, folder)
        if args.shard or args.generate_only:
            return 0
    elif args.generate_only:
        raise PhysPlanError("--generate-only needs --generate: a preset, a config file or module:function.")
    sets = {folder.name: load_videos(folder, args.real, scenes) for folder in args.generated}
    if len(sets) < len(args.generated):
        raise PhysPlanError("Two runs have folders of the same name: rename one, results go by these names.")
    if len(sets) == 1 and not args.submission:
        return measure(args, PhysicsIQ(videos=next(iter(sets.values())), config=config))
    return _measure_runs(args, sets, config, scenes, card)


def _config(args: argparse.Namespace) -> PhysicsIQConfig:
    from physplan_bench.physics_iq.benchmark import PhysicsIQConfig

    official = not args.exact
    config = PhysicsIQConfig(
        protocol=args.protocol, lossy_masks=official, official_rounding=official, chosen_with=args.split
    )
    if args.reported and not config.comparable:
        raise PhysPlanError(
            "The paper reports the official number of the original protocol: leave out --reported, or "
            "--exact and --protocol verified."
        )
    return config


def _scenes(args: argparse.Namespace) -> list[Scene]:
    from physplan_bench.physics_iq.dataset import read_descriptions
    from physplan_bench.physics_iq.prompts import descriptions_file, templated

    if args.template is None:
        return read_descriptions(descriptions_file(args.descriptions, args.prompts))
    if args.prompts == "op":
        raise PhysPlanError("--template words best-practice prompts: leave it out, or give --prompts bpp.")
    return templated(args.descriptions, args.template)


def _card(args: argparse.Namespace) -> dict[str, Any] | None:
    """Everything that a submission lacks is said before anything is measured."""
    from physplan_bench.new_folder import require_new
    from physplan_bench.physics_iq.submission import read_card

    if args.submission is None:
        return None
    if args.protocol != "verified" or args.exact or args.prompts is None:
        raise PhysPlanError("--submission needs --protocol verified, --prompts bpp or op, and no --exact.")
    if args.card is None:
        raise PhysPlanError("--submission needs --card FILE: who submits, costs, terms and warranties.")
    require_new(args.submission)
    return read_card(args.card)


def _measure_runs(
    args: argparse.Namespace,
    sets: dict[str, VideoSet],
    config: PhysicsIQConfig,
    scenes: list[Scene],
    card: dict[str, Any] | None,
) -> int:
    from physplan_bench.benchmark import run_benchmark
    from physplan_bench.physics_iq.benchmark import PhysicsIQ
    from physplan_bench.physics_iq.runs import combine_runs, runs_table
    from physplan_bench.physics_iq.submission import Submission, write_submission

    if args.shard:
        raise PhysPlanError("--shard measures one run at a time: give one --generated folder.")
    results: dict[str, Any] = {}
    records: list[Record] = []
    with work_folder(args) as folder:
        for number, (name, videos) in enumerate(sets.items()):
            benchmark = PhysicsIQ(videos=videos, config=config)
            results[name] = run_benchmark(
                benchmark, folder / name, engine=engine_config(args), progress=show_progress
            )
            found = benchmark.records(results[name], args.label, folder / name)
            records += [replace(record, seed=number) for record in found]
    combined = combine_runs(results)
    if card is not None:
        entry = Submission(
            runs={name: (sets[name], result) for name, result in results.items()},
            combined=combined,
            scenes=scenes,
            prompts=args.prompts,
            templater="own" if args.template else None,
        )
        write_submission(args.submission, card, entry)
    return emit(args, combined, runs_table(combined, args.label), records=records)


def _measure_methods(args: argparse.Namespace, config: PhysicsIQConfig, scenes: list[Scene]) -> int:
    """--methods: all on the same plans and keyframes, compared pair by pair."""
    from physplan_bench.arms import compare_arms, physics_iq_arms_table
    from physplan_bench.physics_iq.benchmark import PhysicsIQ
    from physplan_bench.physics_iq.dataset import load_videos

    if len(args.generated) > 1 or args.submission:
        raise PhysPlanError("--methods makes one folder per method in one --generated folder, no submission.")
    videos = args.generated[0]
    if args.generate:
        generate(args, scenes, videos)
        if args.shard or args.generate_only:
            return 0

    def show(results: dict[str, Any], records: list[Record]) -> int:
        scores = {
            method: {id: (video["score"], video["scenario"]) for id, video in result["videos"].items()}
            for method, result in results.items()
        }
        compared = compare_arms(scores)
        table = physics_iq_arms_table(results, compared, config)
        return emit(args, {"methods": results, **compared}, table, records=records)

    def benchmark_of(folder: Path) -> PhysicsIQ:
        return PhysicsIQ(videos=load_videos(folder, args.real, scenes), config=config)

    return measure_methods(args, videos, benchmark_of, show)


def generate(args: argparse.Namespace, scenes: list[Scene], output: Path) -> None:
    """All 198 from the switch frames and descriptions, as far as they are missing."""
    from physplan_bench.generation import Wanted
    from physplan_bench.physics_iq.dataset import CLIP_SECONDS, check_generation_rows, find_switch_frames

    check_generation_rows(args.descriptions, scenes)
    frames = find_switch_frames(args.switch_frames or args.real, scenes)
    wanted = [
        Wanted(name=s.id, first_frame=frames[s.id], prompt=s.description, file=s.generated_name)
        for s in scenes
    ]
    make_videos(args, wanted, output, seconds=CLIP_SECONDS)
