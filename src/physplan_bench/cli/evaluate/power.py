"""How many scenes and seeds a difference needs, from a result at hand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

EXAMPLES = """\
  physplan evaluate power study.json --difference 10
  physplan evaluate power study.json --difference 10 --baseline sketch --power 0.9
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "power", __doc__, EXAMPLES, run)
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    parser.add_argument("--difference", type=float, required=True, metavar="X", help="in the score's unit")
    parser.add_argument("--baseline", metavar="METHOD", help="compare with this one (default: the first)")
    parser.add_argument("--power", type=float, default=0.8, metavar="P", help="default: 0.8")
    add_output(parser, plot=False, reported=False, page=False)


def run(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    import numpy as np

    from physplan_bench.correction import needed
    from physplan_bench.pairs import methods_of
    from physplan_bench.records import need_records
    from physplan_bench.tables import Table, rows_of, titled

    if not 0 < args.power < 1:
        raise PhysPlanError(f"--power {args.power:g} is no probability between 0 and 1.")
    records = need_records(args.result)
    methods = methods_of(records)
    baseline = args.baseline or methods[0]
    if len(methods) < 2 or baseline not in methods:
        raise PhysPlanError(
            f"Power is of a paired difference: give a result of two methods or more, and a --baseline "
            f"among {', '.join(methods)}."
        )
    there = {(r.scene, r.seed): r.score for r in records if r.method == baseline}
    found = {}
    for method in (name for name in methods if name != baseline):
        mine = [r for r in records if r.method == method and (r.scene, r.seed) in there]
        values = np.array([r.score - there[r.scene, r.seed] for r in mine])
        found[method] = needed(values, [r.group for r in mine], args.difference, power=args.power)
    seeds = next(iter(found.values())).scenes
    columns = [f"scenes, {k} seed{'s' if k > 1 else ''}" for k in seeds]
    table = Table(
        title=f"Scenes that show {args.difference:g} less {baseline} with power {args.power:g}",
        columns=titled(*columns, "at hand", "shows now", digits=1),
        rows=rows_of(
            {n: (*one.scenes.values(), one.scenes_at_hand, one.detectable) for n, one in found.items()}
        ),
        note="At level 0.95, two-sided. Shows now: the difference that the result at hand could show; a dash "
        "where all differences are equal, which says nothing of their spread.",
    )
    return emit(args, {"benchmark": "power", "methods": {n: asdict(o) for n, o in found.items()}}, table)
