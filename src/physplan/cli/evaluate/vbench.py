"""`physplan evaluate vbench`"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli.evaluate.common import (
    add_engine,
    add_output,
    emit,
    engine_config,
    make_parser,
    show_progress,
    work_folder,
)
from physplan.errors import PhysPlanError

if TYPE_CHECKING:
    from physplan.evaluation.tables import Table

EXAMPLES = """\
  physplan evaluate vbench --results eval_results.json --reported
  physplan evaluate vbench --videos videos/                           temporal flickering only
  physplan evaluate vbench --videos videos/ --use subject_consistency=facebook/dino-vitb16 \\
      --use background_consistency=openai/clip-vit-base-patch32 --use motion_smoothness=my_amt:load \\
      --results the_rest.json

A dimension that is measured here replaces the same one of --results. The Quality Score needs all seven.
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(
        subparsers,
        "vbench",
        help="VBench's quality dimensions and Quality Score",
        examples=EXAMPLES,
        run=run,
    )
    parser.add_argument(
        "--results", type=Path, nargs="+", default=[], metavar="FILE", help="official result files"
    )
    parser.add_argument("--videos", type=Path, metavar="DIR", help="measure the videos of this folder")
    parser.add_argument(
        "--use",
        action="append",
        default=[],
        metavar="DIMENSION=MODEL",
        help="measure a dimension with a model, or with module:function",
    )
    add_engine(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    from physplan.evaluation.vbench.benchmark import evaluate, find_videos, summarise
    from physplan.evaluation.vbench.score import read_results

    known: dict[str, float] = {}
    for path in args.results:
        known |= read_results(path)
    if args.videos:
        specs = {"temporal_flickering": "pixels", **read_specs(args.use)}
        with work_folder(args) as folder:
            result = evaluate(
                find_videos(args.videos),
                specs,
                folder,
                known=known,
                engine=engine_config(args),
                progress=show_progress,
            )
    elif known:
        result = summarise(known, settings={"results": [path.name for path in args.results]})
    else:
        raise PhysPlanError("Give --videos DIR to measure, --results FILE to read, or both.")
    return emit(args, result, make_table(result, label=args.label, reported=args.reported), ylabel="%")


def read_specs(given: list[str]) -> dict[str, str]:
    from physplan.evaluation.vbench.score import check_dimension

    specs = {}
    for text in given:
        name, equals, spec = text.partition("=")
        if not equals or not spec:
            raise PhysPlanError(f"--use {text!r} is not DIMENSION=MODEL.")
        specs[check_dimension(name)] = spec
    return specs


def make_table(result: Mapping[str, Any], *, label: str, reported: bool = False) -> Table:
    from physplan.evaluation.reported import VBENCH_COLUMNS, reported_rows
    from physplan.evaluation.tables import Row, Table
    from physplan.evaluation.vbench.score import DIMENSIONS

    values = [result["quality_score"], *(result["dimensions"].get(name) for name in DIMENSIONS)]
    cells = tuple(None if value is None else 100 * value for value in values)
    return Table(
        title="VBench quality (%)",
        columns=VBENCH_COLUMNS,
        rows=(*(reported_rows("vbench") if reported else ()), Row(label=label, cells=cells)),
        note=" ".join(result["notes"]),
    )
