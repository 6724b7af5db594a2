"""Make many videos from a CSV or JSON-lines file, and a page that shows them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli import recipe
from physplan.cli.parsers import add_command
from physplan.foreign import plain
from physplan_bench.cli.evaluate.common import add_engine, engine_config, show_progress

if TYPE_CHECKING:
    from physplan_bench.batch.jobs import Job

EXAMPLES = """
examples:
  physplan batch videos.csv -o out                                with columns image, prompt, seed, method
  physplan batch videos.jsonl -o out --preset paper --budget 20   one budget for all of them
  physplan batch videos.csv -o out --workers 2                    or --ray ADDRESS, or --shard 1/8
  physplan batch videos.csv -o out --dry-run                      rows checked, calls and cost

A column with a dot in its name is a setting: video.num_inference_steps, guidance.step_size. In JSON lines
"settings": {"video.fps": 16} does the same. Paths are relative to the file. The same command goes on after a
stop; only what is missing or new is made, and nothing is paid twice.
"""


def add_parser(subparsers: Any) -> None:
    about = "make many videos from a CSV or JSON-lines file"
    parser = add_command(subparsers, "batch", run, about, __doc__, EXAMPLES)
    parser.add_argument("file", type=Path, metavar="FILE", help=".csv or .jsonl, a row for each video")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the batch's folder")
    parser.add_argument("--dry-run", action="store_true", help="check the rows and say what they would cost")
    parser.add_argument("--json", action="store_true", help="print the result as JSON instead of a table")
    recipe.add_arguments(parser)
    add_engine(parser, work=False)


def run(args: argparse.Namespace) -> int:
    from physplan_bench.batch.gallery import write_gallery
    from physplan_bench.batch.jobs import read_jobs, run_batch
    from physplan_bench.batch.summary import make_table, read_entries, summarise, write_record
    from physplan_bench.shared_budget import total_settings

    budget, args.budget = args.budget, None  # of all together, not of each
    changes = {**recipe.overrides(args), **total_settings(args.output, budget)}
    here = args.ray is None and not args.dry_run
    jobs = read_jobs(args.file, recipe.source(args), changes, args.output, here=here)
    if args.dry_run:
        return show_forecast(jobs, args.output)
    try:
        report = run_batch(jobs, args.output, engine=engine_config(args), progress=show_progress)
    except KeyboardInterrupt:
        print(f"Stopped. The same command goes on; what is done is in {plain(args.output)}.", file=sys.stderr)
        return 130
    entries = read_entries(jobs, args.output, report.failures)
    result = summarise(entries, args.output, budget)
    write_record(result, args.output)
    page = write_gallery(entries, result, args.output, title=args.file.stem)
    show(args, result, make_table(entries, result))
    print(f"All of them on one page: {page}", file=sys.stderr)
    report.require_complete()
    return 0


def show(args: argparse.Namespace, result: dict[str, Any], table: Any) -> None:
    import json

    from physplan_bench.tables import render

    print(json.dumps(result, indent=2, allow_nan=False) if args.json else render(table).rstrip("\n"))


def show_forecast(jobs: list[Job], folder: Path) -> int:
    """What each row would call and pay. Nothing is done."""
    from physplan.pipeline import PhysPlan
    from physplan_bench.batch.jobs import arguments
    from physplan_bench.cases import CaseStore
    from physplan_bench.tables import Column, Row, Table, render

    store = CaseStore(folder) if folder.is_dir() else None
    rows: list[Row] = []
    calls: list[int] = []
    prices: list[float | None] = []
    lacking: dict[str, None] = {}
    for job in jobs:
        if store is not None and store.result(job.case) is not None:
            rows.append(Row(label=job.row.label, cells=("made", 0, 0.0)))
            continue
        found = PhysPlan(job.config).forecast(output_dir=job.run_folder(folder), **arguments(job.row))
        calls.append(found.calls)
        prices.append(found.usd)
        lacking |= {f"Missing here: {item.what} ({item.fix})": None for item in found.missing}
        rows.append(Row(label=job.row.label, cells=("to do", found.calls, found.usd)))
    total = None if None in prices else sum(price or 0.0 for price in prices)
    table = Table(
        title="Batch",
        columns=(Column(title="state"), Column(title="calls"), Column(title="about USD")),
        rows=(*rows, Row(label="All", cells=("", sum(calls), total))),
        label="Video",
        note="Calls and prices suppose plans of the usual number of events. Nothing was done.",
    )
    print("\n".join([render(table).rstrip("\n"), *lacking]))
    return 0
