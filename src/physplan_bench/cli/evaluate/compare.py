"""Two results pair by pair: what was won, what was lost."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

EXAMPLES = """\
  physplan evaluate compare before.json after.json
  physplan evaluate compare before.json after.json --page compared     with the videos won and lost
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "compare", __doc__, EXAMPLES, run)
    parser.add_argument("before", type=Path, metavar="A", help="FILE.json or a page's folder")
    parser.add_argument("after", type=Path, metavar="B")
    parser.add_argument("--method", metavar="NAME", help="only this method of both results")
    add_output(parser, plot=False, reported=False)


def run(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from physplan_bench.pairs import changes_of, compared_table, match_results
    from physplan_bench.records import need_records, result_file

    files = [result_file(path) for path in (args.before, args.after)]
    before, after = (
        [record.moved(path.absolute().parent, Path.cwd()) for record in need_records(path)] for path in files
    )
    if args.method:
        before, after = ([r for r in group if r.method == args.method] for group in (before, after))
    same = files[0].stem == files[1].stem  # then their folders tell them apart
    first, second = (path.absolute().parent.name if same else path.stem for path in files)
    records, compared = match_results(before, after, names=(first, second))
    if not compared:
        raise PhysPlanError(
            "The two results share no method, scene and seed: give results of the same scenes, or --method."
        )
    result = {"benchmark": "comparison", "compared": [asdict(one) for one in compared]}
    table = compared_table(compared, f"{second} less {first}")
    args.changes = changes_of(records, compared)
    return emit(args, result, table, records=records)
