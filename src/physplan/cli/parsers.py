"""What the parsers of commands have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any


def add_command(
    subparsers: Any,
    name: str,
    run: Callable[..., int] | None,
    help: str,
    description: str | None,
    examples: str,
) -> argparse.ArgumentParser:
    """`run` is None for a command that has commands of its own. The description is its module's docstring."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if run is not None:
        parser.set_defaults(run=run)
    return parser


def add_set(parser: Any, help: str = "any field, such as video.fps=16") -> None:
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help=help)
