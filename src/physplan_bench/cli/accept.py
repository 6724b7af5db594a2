"""Six stages, each with a pass, a warning or a failure and what it means."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from physplan.cli.parsers import add_command, add_set
from physplan.errors import PhysPlanError

EXAMPLES = """\
examples:
  physplan accept home -o acceptance/                 all six stages; the same command goes on after a stop
  physplan accept home -o acceptance/ --stages 1      the machine and the weights alone
  physplan accept cloud -o acceptance/ --budget 1     stage 6 may spend so many USD
  physplan accept --compare A.json B.json             what differs between two machines

Exit code: 0 no stage failed, 1 one did, 2 the command is wrong. acceptance.json holds no names, paths or
keys: send it with the issue template `first light`.
"""


def add_parser(subparsers: Any) -> None:
    about = "does a preset work on this machine: weights, parity, perception, gradient, videos, services"
    parser = add_command(subparsers, "accept", run, about, __doc__, EXAMPLES)
    parser.add_argument("preset", nargs="?", metavar="PRESET", help="a preset, or a config file")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="the folder of the acceptance")
    add_set(parser, "any setting")
    parser.add_argument(
        "--stages", type=int, nargs="+", choices=range(1, 7), metavar="N", help="only these (default: all)"
    )
    parser.add_argument(
        "--budget", type=float, default=0.0, metavar="USD", help="for all of stage 6 (default: 0)"
    )
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FILE", help="two acceptance.json")


def run(args: argparse.Namespace) -> int:
    if args.compare:
        return _compare(args)
    if args.preset is None or args.output is None:
        raise PhysPlanError("Give a preset and -o DIR, or --compare A.json B.json.")
    from physplan.files import make_folder
    from physplan.pipeline.config_loading import load_config, read_assignments
    from physplan.pipeline.defaults import with_defaults
    from physplan.pipeline.requirements import check_names
    from physplan_bench.accept.context import Acceptance
    from physplan_bench.accept.page import write_page
    from physplan_bench.accept.run import RESULT, STAGES, run_stages

    config = with_defaults(load_config(args.preset, read_assignments(args.set)))
    check_names(config)
    make_folder(args.output)
    here = Acceptance(config=config, folder=args.output, budget=args.budget)
    result = run_stages(here, args.stages or sorted(STAGES), _tell)
    page = write_page(result, args.output)
    for stage in result["stages"]:
        print(f"{stage['stage']}. {stage['title']}: {stage['level']}")
        for one in stage["findings"]:
            if one["level"] in ("warning", "failure"):
                print(f"   {one['level']}: {one['name']}: {one['meaning']}")
    print(f"{result['preset']}: {result['level']}; {page}, {args.output / RESULT}")
    return 1 if result["level"] == "failure" else 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _compare(args: argparse.Namespace) -> int:
    from physplan.foreign import plain
    from physplan_bench.accept.compare import comparison, load_acceptance
    from physplan_bench.tables import render

    table = comparison(*(load_acceptance(path) for path in args.compare))
    print(plain(render(table), lines=True), end="")
    return 0
