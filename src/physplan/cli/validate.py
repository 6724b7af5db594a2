"""`physplan validate`: run the four checks on an edit set."""

from __future__ import annotations

import argparse
import json
from typing import Any

from physplan.foreign import plain

_EXAMPLES = """\
examples:
  physplan validate --graph graph.json --delta delta.json --edits edits.json
  physplan validate --graph G1.json --delta D2.json --edits E2.json --consumed ice#1 --json

The files hold the paper's JSON: the graph {"nodes": [...], "edges": [...]}, one entry of "deltas"
{"states": [...], "fraction": 0.3}, and the edits {"edits": [...]}.
Exit code: 0 accepted, 1 rejected, 2 a file is not what it should be.
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "validate",
        help="check an edit set against a graph and a delta",
        description="Run the checks grounding, coverage, lineage and consistency; print every violation.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--graph", required=True, metavar="G.json", help="the state graph before the event")
    parser.add_argument("--delta", required=True, metavar="D.json", help="the physical delta of the event")
    parser.add_argument("--edits", required=True, metavar="E.json", help="the edit set to check")
    parser.add_argument(
        "--consumed",
        nargs="*",
        action="extend",
        default=[],
        metavar="ID",
        help="objects consumed by earlier events",
    )
    parser.add_argument("--max-nodes", type=int, default=40, metavar="N", help="limit of nodes (default: 40)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from physplan.graph import Limits, check, parse_delta, parse_edits, parse_file, parse_graph

    limits = Limits(max_nodes=args.max_nodes)
    graph = parse_file(args.graph, parse_graph, limits)
    delta = parse_file(args.delta, parse_delta, limits)
    edits = parse_file(args.edits, parse_edits, limits)
    violations = check(graph, delta, edits, frozenset(args.consumed))
    if args.json:
        found = [violation.to_json() for violation in violations]
        print(json.dumps({"accepted": not violations, "violations": found}, indent=2, ensure_ascii=False))
    elif violations:
        for violation in violations:
            print(f"{violation.check}: {plain(violation.message)}")
        print(f"Rejected: {len(violations)} violation{'s' if len(violations) > 1 else ''}.")
    else:
        print(f"Accepted: {len(edits)} edit{'s' if len(edits) != 1 else ''} pass all four checks.")
    return 1 if violations else 0
