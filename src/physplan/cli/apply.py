"""`physplan apply`: the graph after an edit set."""

from __future__ import annotations

import argparse
import json
from typing import Any

_EXAMPLES = """\
examples:
  physplan apply --graph graph.json --edits edits.json
  physplan apply --graph graph.json --edits edits.json -o next.json

Without a delta there is no scope to compare with, so all checks but coverage are made
(`physplan validate` makes all four). Exit code: 0 applied, 1 rejected, 2 a file is not what it should be.
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "apply",
        help="apply an edit set to a graph",
        description="Print the next graph as JSON.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--graph", required=True, metavar="G.json", help="the state graph")
    parser.add_argument("--edits", required=True, metavar="E.json", help='the edit set, {"edits": [...]}')
    parser.add_argument("--max-nodes", type=int, default=40, metavar="N", help="limit of nodes (default: 40)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the graph here instead of printing it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from physplan.files import write_json
    from physplan.graph import Limits, RejectedEdits, apply, check, parse_edits, parse_file, parse_graph

    limits = Limits(max_nodes=args.max_nodes)
    graph = parse_file(args.graph, parse_graph, limits)
    edits = parse_file(args.edits, parse_edits, limits)
    if violations := check(graph, None, edits):
        raise RejectedEdits(violations, args.edits)
    following = apply(graph, edits).to_json()
    if args.output:
        write_json(args.output, following)
    else:
        print(json.dumps(following, indent=2, ensure_ascii=False))
    return 0
