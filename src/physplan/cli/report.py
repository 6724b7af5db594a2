"""One self-contained HTML page about a run; it opens without a network and prints well."""

from __future__ import annotations

import argparse
from typing import Any

from physplan.cli.parsers import add_command

EXAMPLES = """
examples:
  physplan report runs/ice            # writes runs/ice/report.html, also of a run that is not finished
"""


def add_parser(subparsers: Any) -> None:
    about = "one page about a run: plan, keyframes, losses, video, cost"
    parser = add_command(subparsers, "report", run, about, __doc__, EXAMPLES)
    parser.add_argument("run_folder", metavar="DIR", help="the folder of a run")


def run(args: argparse.Namespace) -> int:
    from physplan.foreign import plain
    from physplan.runs import RunFolder, layout

    folder = RunFolder(args.run_folder)
    layout.require_run(folder.path)  # before what draws it is loaded
    from physplan.report import write_report

    print(f"The report is {plain(write_report(folder))}")
    return 0
