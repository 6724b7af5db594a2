"""A server that speaks /v1/videos: a picture and a sentence in, a planned video out."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from physplan.cli.parsers import add_command
from physplan.errors import PhysPlanError
from physplan.settings import DEFAULT_PRESET

EXAMPLES = """
examples:
  physplan serve                              # http://127.0.0.1:8095/v1 for programs of this machine
  physplan serve --host 0.0.0.0 --token-file token.txt
  physplan serve --workers 4                  # four videos side by side
  physplan serve --workers 16 --ray auto --gpus-per-worker 1     # on the nodes of a Ray cluster

The openai client: OpenAI(base_url="http://127.0.0.1:8095/v1", api_key=TOKEN).videos.create(prompt=..., ...)
"""


def add_parser(subparsers: Any) -> None:
    about = "planned videos for other programs, over /v1/videos"
    parser = add_command(subparsers, "serve", run, about, __doc__, EXAMPLES)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (this machine only)")
    parser.add_argument("--port", type=int, default=8095, metavar="N", help="(8095)")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="(runs)")
    parser.add_argument("--preset", default=DEFAULT_PRESET, help="of requests that name none (%(default)s)")
    parser.add_argument("--token", default="", help="that requests must send; PHYSPLAN_TOKEN is the same")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="that holds the token")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="videos made side by side (1)")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="workers on a Ray cluster whose nodes all see --runs: its address, auto, or local to start one",
    )
    parser.add_argument("--cpus-per-worker", type=float, default=1, metavar="N", help="with --ray (1)")
    parser.add_argument("--gpus-per-worker", type=float, default=0, metavar="N", help="with --ray (0)")


def run(args: argparse.Namespace) -> int:
    import signal

    from physplan import presets
    from physplan.foreign import plain
    from physplan_studio.serving.service import Service, Workers

    if not 0 <= args.port < 65536:
        raise PhysPlanError(f"--port must be from 0 to 65535, not {args.port}.")
    if args.preset not in presets.NAMES:
        raise PhysPlanError(f"There is no preset {args.preset!r}: use {', '.join(presets.NAMES)}.")
    workers = Workers(number=args.workers, ray=args.ray, cpus=args.cpus_per_worker, gpus=args.gpus_per_worker)
    service = Service(
        args.runs, host=args.host, port=args.port, token=_token(args), preset=args.preset, workers=workers
    )
    print(plain(f"Serving /v1/videos at http://{args.host}:{service.server.port}/v1"))
    print(plain(f"Runs are in {args.runs}. Stop with Ctrl-C; what is under way goes on at the next start."))
    sys.stdout.flush()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        service.server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        service.close()
    return 0


def _token(args: argparse.Namespace) -> str:
    if args.token_file is not None:
        try:
            return str(args.token_file.read_text("utf-8").strip())
        except (OSError, UnicodeDecodeError):
            raise PhysPlanError(f"The token file {args.token_file} cannot be read: check the path.") from None
    return str(args.token or os.environ.get("PHYSPLAN_TOKEN", ""))
