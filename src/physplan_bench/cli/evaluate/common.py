"""What every benchmark's command shares: how to run the cases, and how to show the result."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli.parsers import add_command, add_set
from physplan.errors import PhysPlanError

if TYPE_CHECKING:
    from physplan_bench.benchmark import Benchmark
    from physplan_bench.engine import EngineConfig, Progress
    from physplan_bench.generation import GenerationConfig, Generator, Wanted
    from physplan_bench.records import Record
    from physplan_bench.tables import Table

Draw = Callable[[Mapping[str, Any], Path], None]
RUNS = Path("runs")


def make_parser(
    subparsers: Any, name: str, help: str | None, examples: str, run: Any
) -> argparse.ArgumentParser:
    """`help` says it in a sentence: a module's docstring."""
    about = (help or "").removesuffix(".")
    first, rest = about.split(" ", 1)
    short = about if first[1:] != first[1:].lower() else f"{first.lower()} {rest}"
    about = f"{about[:1].upper()}{about[1:]}."
    parser = add_command(subparsers, name, run, short, about, f"examples:\n{examples}")
    parser.set_defaults(benchmark=name)
    return parser


def add_output(
    parser: argparse.ArgumentParser, *, plot: bool = True, reported: bool = True, page: bool = True
) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write the whole result: FILE.json" + (", or DIR with a page beside it" if page else ""),
    )
    group.add_argument("--json", action="store_true", help="print the result as JSON instead of a table")
    group.add_argument(
        "--format",
        default="text",
        choices=("text", "wide", "markdown", "latex", "csv"),
        help="text: at most 120 columns; wide: each row on one line",
    )
    if reported:
        group.add_argument("--label", default="this run", help="the name of the row in the table")
        group.add_argument("--reported", action="store_true", help="add the paper's rows, marked as reported")
    if page:
        group.add_argument(
            "--page", type=Path, metavar="DIR", help="the static page with tables, videos and cases.csv"
        )
    if plot:
        group.add_argument("--plot", type=Path, metavar="FILE", help="draw the table as .png or .svg")


def add_engine(parser: argparse.ArgumentParser, *, work: bool = True) -> None:
    group = parser.add_argument_group("scale")
    if work:
        group.add_argument(
            "--work",
            type=Path,
            metavar="DIR",
            help="results of the cases (default: beside -o, else runs/evaluate-BENCHMARK)",
        )
    group.add_argument("--workers", type=int, default=1, metavar="N", help="worker processes, or Ray workers")
    group.add_argument(
        "--ray", nargs="?", const="", metavar="ADDRESS", help="use a Ray cluster: its address, or `local`"
    )
    group.add_argument("--shard", metavar="i/n", help="do only the i-th of n parts, counted from 1")
    group.add_argument(
        "--retries", type=int, default=2, metavar="N", help="further attempts at a failed case"
    )
    group.add_argument(
        "--case-seconds", type=float, metavar="S", help="with --workers: give up on an attempt after so long"
    )
    group.add_argument("--cpus-per-worker", type=float, default=1, metavar="N", help="with --ray")
    group.add_argument("--gpus-per-worker", type=float, default=0, metavar="N", help="with --ray")


def add_generation(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("generation")
    group.add_argument(
        "--generate",
        metavar="WHAT",
        help="make the videos that are missing with a preset (sandbox, paper, open), a config file, or a "
        "model of your own as module:function",
    )
    group.add_argument(
        "--method", metavar="NAME", help="physplan, guided_sketch, base, ... (default: the preset's)"
    )
    group.add_argument(
        "--methods",
        nargs="+",
        metavar="NAME",
        help="several of a preset, each in a folder of its name; a case's plan and keyframes are shared",
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of the sampling (default: 0)")
    add_set(group, "any field of a preset, such as runtime.budget=0.60 (USD, of each video)")
    group.add_argument(
        "--budget", type=float, metavar="USD", help="make no call with which all together could exceed it"
    )
    group.add_argument(
        "--events", type=int, metavar="K", help="plans of K events, as for the cost of K = 5 and 7"
    )
    group.add_argument("--size", metavar="HxW", help="the size of the model's frames, such as 480x720")
    group.add_argument("--fit", default="stretch", choices=("stretch", "letterbox"))
    group.add_argument("--fps", type=float, metavar="N", help="resample the videos to N frames a second")
    group.add_argument(
        "--shared",
        type=Path,
        metavar="DIR",
        help="plans and keyframes, which several methods and seeds share",
    )


def add_scenes(
    parser: argparse.ArgumentParser, *, scenes: int, first: int, what: str = "number of scenes"
) -> None:
    """Of a study in the sandbox: its scenes, changes of the preset, scale and output."""
    parser.add_argument("--scenes", type=int, default=scenes, metavar="N", help=f"{what} (default {scenes})")
    parser.add_argument("--split", default="test", choices=("test", "validation", "train"))
    parser.add_argument(
        "--first", type=int, default=first, metavar="N", help=f"the first scene (default {first})"
    )
    add_set(parser, "of the sandbox preset")
    add_engine(parser)
    add_output(parser, plot=False, reported=False)
    parser.set_defaults(label="")


def measure_scenes(args: argparse.Namespace, study: Any, **fields: Any) -> int:
    """`study` is the class of a study in the sandbox."""
    from physplan.pipeline.config_loading import read_assignments

    scenes = {name: getattr(args, name) for name in ("scenes", "split", "first")}
    return measure(args, study.of_preset(read_assignments(args.set), **scenes, **fields))


def run_generation(
    args: argparse.Namespace,
    wanted: Sequence[Wanted],
    output: Path,
    *,
    seconds: float | None = None,
    shared: Path | None = None,
) -> None:
    """Make the videos that a benchmark wants, as far as they are missing, with --generate."""
    from physplan_bench.generation import generate
    from physplan_bench.shared_budget import open_total

    work = cases_of(output)
    make_generator, config = chosen_generator(args, seconds, work, shared or args.shared)
    ledger = open_total(work)
    report = generate(
        wanted,
        make_generator,
        output,
        work,
        config=config,
        engine=engine_config(args),
        progress=show_progress,
    )
    report.require_complete()
    paid = f" They cost {spent:.4f} USD in all." if (spent := ledger.totals().usd) else ""
    print(f"{len(report.results)} of {len(wanted)} videos are in {output}.{paid}", file=sys.stderr)


def folders_of_methods(args: argparse.Namespace, root: Path) -> dict[str, Path]:
    """--methods: where each one's videos are."""
    if args.method or len(set(args.methods)) < len(args.methods) or len(args.methods) < 2:
        raise PhysPlanError("--methods names two or more different methods, and takes the place of --method.")
    return {method: root / method for method in args.methods}


def make_videos(
    args: argparse.Namespace, wanted: Sequence[Wanted], videos: Path, *, seconds: float | None = None
) -> None:
    """In `videos`, or with --methods in a folder each there, whose plans and keyframes all of them share."""
    if not args.methods:
        return run_generation(args, wanted, videos, seconds=seconds)
    for method, folder in folders_of_methods(args, videos).items():
        one = argparse.Namespace(**vars(args) | {"method": method})
        run_generation(one, wanted, folder, seconds=seconds, shared=videos / "shared")
    return None


def cases_of(videos: Path) -> Path:
    """Where the runs are that make the videos of this folder, with the ledger of all of them."""
    return videos.with_name(f"{videos.name}.cases")


def chosen_generator(
    args: argparse.Namespace, seconds: float | None, work: Path, shared: Path | None = None
) -> tuple[Callable[[], Generator], GenerationConfig]:
    """--generate as a function without arguments that makes the generator, and what identifies its videos."""
    from physplan_bench.generation import GenerationConfig, load_generator

    size = read_size(args.size)
    if ":" not in args.generate:
        from physplan.pipeline.config_loading import read_assignments
        from physplan_bench.event_count import event_settings, require_prompts
        from physplan_bench.preset_generator import use_preset
        from physplan_bench.shared_budget import total_settings

        changes = {**read_assignments(args.set), **total_settings(work, args.budget)}
        events = {} if args.events is None else event_settings(args.events, work, changes)
        make, config = use_preset(
            args.generate,
            method=args.method,
            overrides={**changes, **events},
            seed=args.seed,
            size=size,
            fit=args.fit,
            seconds=seconds,
            fps=args.fps,
            shared=shared,
        )
        if events:
            require_prompts(config.settings["reasoner.name"])
        return make, replace(config, events=args.events)
    if args.method or args.set or args.budget is not None or args.events is not None:
        raise PhysPlanError(
            f"--method, --set, --budget and --events are for presets, and {args.generate} is a model of your"
            " own."
        )
    return load_generator(args.generate), GenerationConfig(
        generator=args.generate, seed=args.seed, size=size, fit=args.fit, seconds=seconds, fps=args.fps
    )


def read_size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)x(\d+)", text)
    if not match:
        raise PhysPlanError(f"--size {text!r} is not HEIGHTxWIDTH, such as 480x720.")
    return int(match[1]), int(match[2])


def engine_config(args: argparse.Namespace) -> EngineConfig:
    from physplan_bench.engine import EngineConfig

    return EngineConfig(
        workers=args.workers,
        ray=args.ray,
        shard=args.shard,
        retries=args.retries,
        case_seconds=args.case_seconds,
        cpus_per_worker=args.cpus_per_worker,
        gpus_per_worker=args.gpus_per_worker,
    )


@contextmanager
def work_folder(args: argparse.Namespace) -> Iterator[Path]:
    """--work, else a folder beside -o, else one of the benchmark's name. What it holds is not done again."""
    if args.shard and not (args.work or args.output):
        raise PhysPlanError("--shard needs --work DIR (or -o FILE), where all parts keep their results.")
    beside = args.output.with_suffix(".cases") if args.output else RUNS / f"evaluate-{args.benchmark}"
    given, folder = args.work, args.work or beside
    try:
        yield folder
    finally:
        if folder.is_dir() and not given:
            print(f"The cases are in {folder}: what is done there is not done again.", file=sys.stderr)


def show_progress(progress: Progress) -> None:
    """One line on a terminal, rewritten; in a log, one line now and then."""
    line = str(progress)
    if progress.done and progress.done < progress.total:
        line += f", about {progress.seconds / progress.done * (progress.total - progress.done):.0f} s left"
    if sys.stderr.isatty():
        end = "\n" if progress.done == progress.total else ""
        print(f"\r\x1b[K{line}", end=end, file=sys.stderr, flush=True)
    elif progress.done == progress.total or progress.done % max(progress.total // 10, 1) == 0:
        if getattr(show_progress, "last", None) != progress.done:
            print(line, file=sys.stderr, flush=True)
        show_progress.last = progress.done  # type: ignore[attr-defined]


def measure(args: argparse.Namespace, benchmark: Benchmark, draw: Draw | None = None) -> int:
    """Run a benchmark as the options of `add_engine` say, and show what came out."""
    from physplan_bench.benchmark import run_benchmark

    with work_folder(args) as folder:
        result = run_benchmark(benchmark, folder, engine=engine_config(args), progress=show_progress)
        if not result.get("partial"):
            records = find_records(benchmark, result, args.label, folder)
            return emit(args, result, benchmark.table(result, args.label), draw=draw, records=records)
    return show_partial(args, result)


def measure_methods(
    args: argparse.Namespace,
    videos: Path,
    benchmark_of: Callable[[Path], Benchmark],
    show: Callable[[dict[str, Any], list[Record]], int],
) -> int:
    """--methods: the benchmark of each one's folder; `show` gets their results by method, and all records."""
    from physplan_bench.benchmark import run_benchmark

    results, records = {}, []
    with work_folder(args) as work:
        for method, folder in folders_of_methods(args, videos).items():
            one, cases = benchmark_of(folder), work / method
            found = run_benchmark(one, cases, engine=engine_config(args), progress=show_progress)
            results[method] = found
            records += [] if found.get("partial") else find_records(one, found, method, cases)
    partial = [result for result in results.values() if result.get("partial")]
    if not partial:
        return show(results, records)
    done, of = (sum(result[name] for result in partial) for name in ("measured", "of"))
    return show_partial(args, partial[0] | {"measured": done, "of": of})


def show_partial(args: argparse.Namespace, result: Mapping[str, Any]) -> int:
    words = f"{result['measured']} of {result['of']} cases are done; run without --shard for the result."
    print(json.dumps(result, indent=2) if args.json else words)
    return 0


def find_records(benchmark: Any, result: Mapping[str, Any], label: str, folder: Path) -> list[Record]:
    """Every judged video, with its files where the benchmark knows them."""
    from physplan_bench.records import records_of

    if hasattr(benchmark, "records"):
        return list(benchmark.records(result, label, folder))
    return records_of(result, label)


def emit(
    args: argparse.Namespace,
    result: Mapping[str, Any],
    *tables: Table,
    draw: Draw | None = None,
    records: Sequence[Record] | None = None,
) -> int:
    """Write, draw and print a result. `records` name their files from the working directory."""
    from physplan.files import write_json
    from physplan.foreign import plain
    from physplan_bench.tables import render

    if getattr(args, "reported", False):
        tables = tuple(table.with_reported() for table in tables)
    pages: set[Path] = {args.page} if getattr(args, "page", None) else set()
    if args.output and hasattr(args, "page") and args.output.suffix != ".json":
        pages.add(args.output)  # a folder: the result is in it, beside the page
    elif args.output:
        write_json(args.output, with_records(result, records, args.output.parent))
    for folder in pages:
        write_result_page(args, folder, result, tables, records)
    if getattr(args, "plot", None):
        from physplan_bench.plots import bar_plot

        draw(result, args.plot) if draw else bar_plot(tables[0], args.plot)
    for warning in result.get("warnings", ()):
        print(f"warning: {plain(warning)}", file=sys.stderr)
    if args.json:
        print(json.dumps(result, indent=2, allow_nan=False))
        return 0
    print(plain("\n".join(render(table, args.format) for table in tables), lines=True), end="")
    if args.format == "text" and (about := result.get("provenance")):
        judge = f", judge {about['judge']}" if about.get("judge") else ""
        print(f"protocol {about['protocol']}{judge}; physplan {about['versions']['physplan']}")
    return 0


def with_records(
    result: Mapping[str, Any], records: Sequence[Record] | None, folder: Path
) -> Mapping[str, Any]:
    """The result with its records, whose files are named from `folder`."""
    from physplan_bench.records import plain_records

    if not records:
        return result
    moved = [record.moved(Path.cwd(), folder.absolute()) for record in records]
    return {**result, "records": plain_records(moved)}


def write_result_page(
    args: argparse.Namespace,
    folder: Path,
    result: Mapping[str, Any],
    tables: Sequence[Table],
    records: Sequence[Record] | None,
) -> None:
    from physplan_bench.records import records_of
    from physplan_bench.result_page.page import PageContent, write_page

    found = list(records) if records is not None else records_of(result, getattr(args, "label", "this run"))
    title = tables[0].title if tables else str(result.get("benchmark", "Result"))
    changes = getattr(args, "changes", {})
    content = PageContent(title=title, tables=tables, records=found, result=result, changes=changes)
    print(f"page: {write_page(content, folder)}", file=sys.stderr)
