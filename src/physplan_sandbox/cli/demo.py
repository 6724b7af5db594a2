"""The same words and three scenes: the glass runs over and the water carries a paper boat away, the boat
on a stone stays, a jug holds it all. The base model beside PhysPlan, on a CPU, no key, no download."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from physplan.cli.parsers import add_command
from physplan.foreign import plain

EXAMPLES = """
examples:
  physplan demo                 # under 5 minutes on two cores: out/demo/demo.png, demo.mp4, three reports
  physplan demo --quick         # under 2 minutes, with fewer steps
"""


def add_parser(subparsers: Any) -> None:
    about = "a tap that nobody closes, in three scenes: base model and PhysPlan side by side"
    parser = add_command(subparsers, "demo", run, about, __doc__, EXAMPLES)
    parser.add_argument("--quick", action="store_true", help="fewer steps, coarser result")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the sampling (default: 0)")
    parser.add_argument("-o", "--output", default="out/demo", metavar="DIR", help="default: out/demo")


def run(args: argparse.Namespace) -> int:
    from physplan.cli.progress import clock
    from physplan.pipeline.events import RunEvent
    from physplan_sandbox.demo import make_demo

    last = 0.0

    def tell(what: str, event: RunEvent) -> None:
        nonlocal last
        now = time.monotonic()
        if event.kind == "progress" and now - last < 2.0:
            return
        last = now
        doing = event.message if event.kind == "progress" else event.kind
        left = f", {clock(event.remaining)} left" if event.remaining is not None else ""
        words = f"{what}, {event.stage}: {doing}{left}"
        ending, start = ("\r", "\x1b[2K") if sys.stderr.isatty() else ("\n", "")
        print(start + plain(words)[:150], end=ending, file=sys.stderr, flush=True)

    began = time.monotonic()
    made = make_demo(Path(args.output), quick=args.quick, seed=args.seed, tell=tell)
    if sys.stderr.isatty():
        print("\x1b[2K", end="", file=sys.stderr)
    print(f"One picture:  {made.picture}")
    print(f"One video:    {made.video}")
    for report in made.reports:
        print(f"How and why:  {report}")
    print(f"Made in {time.monotonic() - began:.0f} s.")
    return 0
