"""Run the checks grounding, coverage, lineage and consistency; or make the next graph."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from physplan.cli.parsers import add_command
from physplan.foreign import plain

if TYPE_CHECKING:
    from physplan.graph import Violation

_EXAMPLES = """\
examples:
  physplan graph --graph graph.json --edits edits.json --delta delta.json     # the four checks
  physplan graph --graph G1.json --edits E2.json --delta D2.json --consumed ice#1 --json
  physplan graph --graph graph.json --edits edits.json -o next.json           # the graph after the edits

The files hold the paper's JSON: the graph {"nodes": [...], "edges": [...]}, one entry of "deltas"
{"states": [...], "fraction": 0.3}, and the edits {"edits": [...]}. Without a delta there is no scope to
compare with, so all checks but coverage are made, and the next graph is printed.
Exit code: 0 accepted, 1 rejected, 2 a file is not what it should be.
"""


def add_parser(subparsers: Any) -> None:
    about = "check an edit set against a graph, or apply it"
    parser = add_command(subparsers, "graph", run, about, __doc__, _EXAMPLES)
    parser.add_argument("--graph", required=True, metavar="G.json", help="the state graph before the event")
    parser.add_argument("--edits", required=True, metavar="E.json", help="the edit set to check")
    parser.add_argument("--delta", metavar="D.json", help="the physical delta of the event")
    parser.add_argument(
        "--consumed",
        nargs="*",
        action="extend",
        default=[],
        metavar="ID",
        help="objects consumed by earlier events",
    )
    parser.add_argument("--max-nodes", type=int, default=40, metavar="N", help="limit of nodes (default: 40)")
    parser.add_argument("--json", action="store_true", help="print the violations as JSON")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the graph after the edits here")


def run(args: argparse.Namespace) -> int:
    from physplan.files import write_json
    from physplan.graph import (
        Limits,
        RejectedEdits,
        apply,
        check,
        parse_delta,
        parse_edits,
        parse_file,
        parse_graph,
    )

    limits = Limits(max_nodes=args.max_nodes)
    graph = parse_file(args.graph, parse_graph, limits)
    delta = parse_file(args.delta, parse_delta, limits) if args.delta else None
    edits = parse_file(args.edits, parse_edits, limits)
    violations = check(graph, delta, edits, frozenset(args.consumed))
    if delta is not None or args.json:
        _show(violations, len(edits), as_json=args.json, checks="four" if delta else "three")
    elif violations:
        raise RejectedEdits(violations, args.edits)
    if violations:
        return 1
    if args.output:
        write_json(args.output, apply(graph, edits).to_json())
    elif delta is None and not args.json:
        print(json.dumps(apply(graph, edits).to_json(), indent=2, ensure_ascii=False))
    return 0


def _show(violations: Sequence[Violation], edits: int, *, as_json: bool, checks: str) -> None:
    if as_json:
        found = [violation.to_json() for violation in violations]
        print(json.dumps({"accepted": not violations, "violations": found}, indent=2, ensure_ascii=False))
    elif violations:
        for violation in violations:
            print(f"{violation.check}: {plain(violation.message)}")
        print(f"Rejected: {len(violations)} violation{'s' if len(violations) > 1 else ''}.")
    else:
        print(f"Accepted: {edits} edit{'s' if edits != 1 else ''} pass all {checks} checks.")
