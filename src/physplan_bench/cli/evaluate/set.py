"""Benchmarks x presets x methods x seeds from one file: one budget, one page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

EXAMPLES = """\
  physplan evaluate set study.yaml --work study/                 go on with the same command after a stop
  physplan evaluate set study.yaml --work study/ --page site/    one page of all videos
study.yaml:
  presets: [open]
  methods: [base, guided_sketch, best_of_n@guided_sketch]
  seeds: [0, 1]
  budget: 20
  benchmarks:
    physics-iq: {real: bench/, descriptions: descriptions.csv}
    phyground: {data: phyground/, judge: gemini:MODEL}
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "set", __doc__, EXAMPLES, run)
    parser.add_argument("file", type=Path, metavar="FILE.yaml")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="videos, cases and results")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes of each part")
    parser.add_argument("--ray", nargs="?", const="", metavar="ADDRESS", help="or Ray workers (or `local`)")
    parser.add_argument("--gpus-per-worker", type=float, default=0, metavar="N", help="with --ray")
    parser.add_argument("--budget", type=float, metavar="USD", help="of all together, in place of the file's")
    add_output(parser, plot=False, reported=False)


def run(args: argparse.Namespace) -> int:
    from contextlib import redirect_stdout
    from sys import stderr

    from physplan.cli import build_parser, main
    from physplan_bench.provenance import provenance
    from physplan_bench.sets.file import read_set
    from physplan_bench.sets.parts import parts_of
    from physplan_bench.sets.run import all_records, check_parts, run_parts, set_table, spent, tell

    found = read_set(args.file)
    if args.workers < 1:
        raise PhysPlanError(f"--workers is {args.workers}: give a number from 1 on.")
    parts = parts_of(found, args.work)
    engine = ["--workers", str(args.workers), "--gpus-per-worker", str(args.gpus_per_worker)]
    engine += [] if args.ray is None else ["--ray", args.ray] if args.ray else ["--ray"]
    check_parts(parts, build_parser().parse_args, engine=engine)
    budget = found.budget if args.budget is None else args.budget
    with redirect_stdout(stderr):  # the parts' own tables; the set's alone is printed
        run_parts(parts, main, budget=budget, tell=tell, engine=engine)
    table = set_table(parts)
    result = {
        "benchmark": "set",
        "provenance": provenance(protocol="set", settings={"file": args.file.name}, seeds=found.seeds),
        "usd": spent(parts),
        "parts": [{"benchmark": part.benchmark, "label": part.label, "seed": part.seed} for part in parts],
    }
    return emit(args, result, table, records=all_records(parts))
