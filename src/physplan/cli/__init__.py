"""The `physplan` command. One module per subcommand; heavy imports happen only when a command runs."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence

from physplan import __version__
from physplan.errors import PhysPlanError
from physplan.foreign import plain
from physplan.graph.errors import GraphError

# Each module holds `add_parser(subparsers)`, which sets `run=<function(args) -> exit code>`.
COMMANDS = (
    *("demo", "sample", "generate", "batch", "report", "plan"),
    *("evaluate", "validate", "apply", "show", "verify", "study", "studio", "doctor"),
    *("verify-origin", "test-certificate"),
)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="physplan",
        description="Give it a picture and a sentence; get a video in which the right thing happens.",
    )
    parser.add_argument("--version", action="version", version=f"physplan {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"physplan.cli.{name.replace('-', '_')}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    try:
        code = int(args.run(args) or 0)
        sys.stdout.flush()
        return code
    except (PhysPlanError, GraphError) as error:
        print(f"physplan: {plain(error)}", file=sys.stderr)
        if isinstance(error, PhysPlanError) and (hint := error.hint()):
            print(plain(hint, lines=True), file=sys.stderr)
        return getattr(error, "exit_code", 2)
    except KeyboardInterrupt:
        print("physplan: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of a pipe left, as `head` does: say nothing, also not when Python flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        where = plain(error.filename or "a file")
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = ": make room and give the same command again; what is done is kept" if full else ""
        print(f"physplan: {where}: {plain(error.strerror or error)}{remedy}.", file=sys.stderr)
        return 2
