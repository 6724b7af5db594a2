"""A judge's mean corrected by a few human labels, with the judge's error in the interval."""

from __future__ import annotations

import argparse
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

if TYPE_CHECKING:
    from physplan_bench.correction import Corrected
    from physplan_bench.records import Record

EXAMPLES = """\
  physplan evaluate correct phyground.json --labels labels.csv
  physplan evaluate correct study.json --votes votes.csv     of `study analyse --votes-csv`
labels.csv has a head and the columns scene, label, and, where needed, method and seed. Labels are on the
scale of the result's scores (cases.csv of --page shows both) and of videos drawn at random.
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "correct", __doc__, EXAMPLES, run)
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--labels", type=Path, metavar="FILE.csv", help="of single videos")
    given.add_argument("--votes", type=Path, metavar="FILE.csv", help="of a user study: pairs of videos")
    parser.add_argument("--criterion", default="plausibility", metavar="NAME", help="of the votes")
    parser.add_argument("--value", metavar="NAME", help="a figure of each video instead of its score")
    add_output(parser, plot=False, reported=False, page=False)


def run(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from physplan_bench.records import need_records
    from physplan_bench.tables import Table, rows_of, titled

    records = need_records(args.result)
    found = by_votes(args, records) if args.votes else by_labels(args, records)
    titles = ("Corrected", "Judge alone", "Labels alone", "Judge's bias", "Weight", "Labelled", "Not")
    figures = ("estimate", "judge_only", "labels_only", "bias", "weight", "labelled", "unlabelled")
    table = Table(
        title=f"Preference, %, {args.criterion}" if args.votes else "Corrected by human labels",
        columns=titled(*titles),
        rows=rows_of({method: attrgetter(*figures)(one) for method, one in found.items()}),
        note="95 % intervals over scenes, with the judge's error (prediction-powered, PPI++ weight).",
    )
    result = {"benchmark": "correction", "methods": {name: asdict(one) for name, one in found.items()}}
    return emit(args, result, table)


def by_labels(args: argparse.Namespace, records: list[Record]) -> dict[str, Corrected]:
    from physplan_bench.labels import match, read_labels
    from physplan_bench.pairs import methods_of

    labels = match(read_labels(args.labels), records)
    found: dict[str, Corrected] = {}
    for method in methods_of(records):
        chosen = [i for i, record in enumerate(records) if record.method == method]
        if any(i in labels for i in chosen):
            found[method] = correct_method(
                [records[i] for i in chosen], [labels.get(i) for i in chosen], args.value
            )
    return found


def by_votes(args: argparse.Namespace, records: list[Record]) -> dict[str, Corrected]:
    from physplan_bench.preferences import correct_choices, read_choices

    if args.value:
        raise PhysPlanError("--value is for --labels: votes are held against the scores.")
    return correct_choices(records, read_choices(args.votes, args.criterion))


def correct_method(records: list[Record], labels: list[float | None], value: str | None) -> Corrected:
    """Scenes are the observations: means over a scene's labelled, and over its other videos."""
    import numpy as np

    from physplan_bench.correction import by_cluster, correct

    scores = [record.score if value is None else figure(record, value) for record in records]
    known = [i for i, label in enumerate(labels) if label is not None]
    groups = [record.group for record in records]
    mine = {groups[i] for i in known}
    said = by_cluster([labels[i] or 0.0 for i in known], [groups[i] for i in known])
    judged = by_cluster([scores[i] for i in known], [groups[i] for i in known])
    rest = [i for i, group in enumerate(groups) if group not in mine]
    others = by_cluster([scores[i] for i in rest], [groups[i] for i in rest])
    return correct(
        np.array(list(said.values())), np.array([judged[c] for c in said]), np.array(list(others.values()))
    )


def figure(record: Record, name: str) -> float:
    found = record.values.get(name)
    if not isinstance(found, int | float):
        known = ", ".join(k for k, v in record.values.items() if isinstance(v, int | float)) or "none"
        raise PhysPlanError(f"The videos have no figure {name!r}: there is {known}.")
    return float(found)
