"""`physplan show`: a plan as a table, and as a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

_EXAMPLES = """\
examples:
  physplan show plan.json
  physplan show plan.json -o plan.png
  physplan show plan.json -o plan.svg -o plan.html

The picture has a row for each object and a column for each event: what changes is marked, the rest is grey.
"""
_SUFFIXES = (".svg", ".png", ".html")


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "show",
        help="show a plan as a table and as a picture",
        description="Show a plan: the objects, what holds what, and what changes at each event.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plan", metavar="PLAN.json", help="a plan, as `physplan plan` writes it")
    parser.add_argument(
        "-o", "--output", action="append", default=[], metavar="FILE", help="a picture: .svg, .png or .html"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from physplan.drawing.table import plan_table
    from physplan.errors import PhysPlanError
    from physplan.foreign import plain
    from physplan.graph import EventChain

    for output in args.output:
        if Path(output).suffix.lower() not in _SUFFIXES:
            raise PhysPlanError(f"{output}: name a picture that ends in {', '.join(_SUFFIXES)}")
    chain = EventChain.load(args.plan)
    console = Console()
    console.print(plan_table(chain))
    for output in args.output:
        try:
            _write(chain, Path(output))
        except OSError as error:
            raise PhysPlanError(f"{output}: cannot be written: {error.strerror or error}") from error
        console.print(f"Picture: {plain(output)}", markup=False, highlight=False, soft_wrap=True)
    return 0


def _write(chain: Any, path: Path) -> None:
    from physplan.drawing.html import to_html
    from physplan.drawing.plan import draw_plan
    from physplan.drawing.png import save_png
    from physplan.drawing.svg import to_svg
    from physplan.files import write_atomic

    suffix = path.suffix.lower()
    if suffix == ".png":
        save_png(draw_plan(chain), path)
    else:
        write_atomic(path, to_html(chain) if suffix == ".html" else to_svg(draw_plan(chain)))
