"""A page in your browser: choose a picture, see and edit the plan, watch the video come."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from physplan.cli.parsers import add_command
from physplan.errors import PhysPlanError

EXAMPLES = """
examples:
  physplan studio                        # opens a page on this machine; runs are in runs/
  physplan studio --runs out/demo        # see, continue and compare runs that are there already
  physplan studio --host 0.0.0.0         # for others too; the link then holds a secret key

Stop with Ctrl-C at any time: what is under way is kept, and goes on when the studio is open again.
"""


def add_parser(subparsers: Any) -> None:
    about = "a page to plan, edit, sample and compare on"
    parser = add_command(subparsers, "studio", run, about, __doc__, EXAMPLES)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (this machine only)")
    parser.add_argument("--port", type=int, default=7860, metavar="N", help="(7860)")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="(runs)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, open nothing")


def run(args: argparse.Namespace) -> int:
    import signal
    import webbrowser

    from physplan.foreign import plain
    from physplan_studio.server import Studio
    from physplan_studio.web.server import link

    if not 0 <= args.port < 65536:
        raise PhysPlanError(f"--port must be from 0 to 65535, not {args.port}.")
    studio = Studio(args.runs, host=args.host, port=args.port)
    address = link(studio.server, args.host)
    print(plain(f"The studio is at {address}"))
    print(plain(f"Runs are in {args.runs}. Stop with Ctrl-C; what is under way is kept."))
    sys.stdout.flush()
    if not args.no_browser:
        webbrowser.open(address)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        studio.server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        studio.close()
    return 0
