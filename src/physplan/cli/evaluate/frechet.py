"""`physplan evaluate fid` and `physplan evaluate fvd`"""

from __future__ import annotations

import argparse
import sys
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

if TYPE_CHECKING:
    from physplan.evaluation.tables import Table

FID_EXAMPLES = """\
  physplan evaluate fid --generated videos/ --real reference/ --extractor inception:inception.pth
  physplan evaluate fid --generated videos/ --real reference/ --extractor dinov2:facebook/dinov2-base
"""
FVD_EXAMPLES = """\
  physplan evaluate fvd --generated videos/ --real reference/ --extractor videomae:path/to/videomae-ssv2
  physplan evaluate fvd --generated videos/ --real reference/ --extractor my_i3d:load --seed 1

One contiguous clip of each video, drawn by --seed and the video's name; every video counts once.
"""


def add_parser(subparsers: Any) -> None:
    fid = make_parser(
        subparsers, "fid", help="Frechet distance between frames", examples=FID_EXAMPLES, run=run
    )
    fvd = make_parser(
        subparsers, "fvd", help="Frechet distance between clips", examples=FVD_EXAMPLES, run=run
    )
    fid.set_defaults(kind="frame")
    fvd.set_defaults(kind="clip", frames_per_video=0)
    fid.add_argument(
        "--frames-per-video",
        type=int,
        default=16,
        metavar="N",
        help="evenly spaced; 0 takes all (default 16)",
    )
    for parser in (fid, fvd):
        parser.add_argument("--generated", type=Path, required=True, metavar="DIR")
        parser.add_argument(
            "--real", type=Path, required=True, metavar="DIR", help="the reference set; name it"
        )
        parser.add_argument("--extractor", required=True, metavar="NAME:MODEL")
        parser.add_argument("--seed", type=int, default=0)
        add_engine(parser)
        add_output(parser, plot=False)


def run(args: argparse.Namespace) -> int:
    from physplan.evaluation.frechet.benchmark import FrechetConfig, evaluate

    config = FrechetConfig(
        kind=args.kind, extractor=args.extractor, seed=args.seed, frames_per_video=args.frames_per_video
    )
    with work_folder(args) as folder:
        result = evaluate(
            args.generated,
            args.real,
            folder,
            config=config,
            engine=engine_config(args),
            progress=show_progress,
        )
    if result.get("partial"):
        print(f"{result['measured']} of {result['of']} videos done; run without --shard for the distance.")
        return 0
    for warning in result["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    return emit(args, result, make_table(result, label=args.label, reported=args.reported))


def make_table(result: Mapping[str, Any], *, label: str, reported: bool = False) -> Table:
    from physplan.evaluation.reported import reported_table
    from physplan.evaluation.tables import Column, Row, Table

    name = result["benchmark"]
    columns: tuple[Column, ...] = (Column(title=name.upper(), digits=2),)
    columns += (Column(title="n generated"), Column(title="n real"), Column(title="d"))
    rows: list[Row] = []
    if reported:
        table = reported_table("frechet")
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                benchmark, _, metric = column.title.rpartition(" ")
                if metric == name.upper():
                    rows.append(
                        Row(
                            label=f"{row.label}, {benchmark}",
                            cells=(cell, None, None, None),
                            source=row.source,
                        )
                    )
    cells = (result[name], result["n_generated"], result["n_real"], result["dimension"])
    settings = result["provenance"]["settings"]
    return Table(
        title=name.upper(),
        columns=columns,
        rows=(*rows, Row(label=label, cells=cells)),
        note=" ".join(
            [f"Extractor {settings['extractor']}, reference {settings['reference']}.", *result["warnings"]]
        ),
    )
