"""Measure videos with the paper's benchmarks, and print, compare and publish the results."""

from __future__ import annotations

from typing import Any

from physplan import plugins
from physplan.cli.parsers import add_command

# Each module holds `add_parser(subparsers)`, which sets `run=<function(args) -> exit code>`. Installed
# packages add theirs as entry points of the group `physplan.benchmarks`.
BENCHMARKS = (
    "sandbox", "terms", "wrong_sketch", "light", "physics_iq", "phygenbench", "phyground", "videophy2",
    "vbench", "frechet", "checks", "set", "rescore", "compare", "correct", "power", "failures", "cost",
    "calibrate", "status", "paper",
)  # fmt: skip

EXAMPLES = """\
examples:
  physplan evaluate physics-iq --generated videos/ --real benchmark/ --descriptions descriptions.csv
  physplan evaluate phygenbench --scores recorded.json --reported
  physplan evaluate vbench --results vbench_eval_results.json --format latex
  physplan evaluate fvd --generated videos/ --real reference/ --extractor videomae:path/to/videomae
  physplan evaluate cost runs/ --reported

Every benchmark is a list of independent cases: a rerun does only what is missing. --workers N uses N
processes, --ray [ADDRESS] a Ray cluster, --shard i/n one part of a job array; the numbers stay the same.
"""


def add_parser(subparsers: Any) -> None:
    about = "measure videos and print the paper's tables"
    parser = add_command(subparsers, "evaluate", None, about, __doc__, EXAMPLES)
    benchmarks = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True)
    own = {name: f"{__package__}.{name}" for name in BENCHMARKS}
    for module in (own | dict(plugins.entries("benchmarks"))).values():
        plugins.load(module).add_parser(benchmarks)
