"""Write a picture of the sandbox's small world, and print the sentence that goes with it."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

from physplan.cli.parsers import add_command

EXAMPLES = """
examples:
  physplan sample --list                   # every name with its sentence
  physplan sample ice-tray -o ice.png      # then: physplan generate --image ice.png --prompt "..."
  physplan sample pour --number 3          # another scene of the same kind

The sandbox, the default preset, knows these scenes and no others.
"""


def add_parser(subparsers: Any) -> None:
    about = "a picture to try things with, and its sentence"
    parser = add_command(subparsers, "sample", run, about, __doc__, EXAMPLES)
    parser.add_argument("name", nargs="?", default="ice-tray", metavar="NAME", help="default: ice-tray")
    parser.add_argument("--list", action="store_true", help="show all names with their sentences")
    parser.add_argument("--number", type=int, default=0, metavar="N", help="which scene of it (default: 0)")
    parser.add_argument("-o", "--output", metavar="FILE", help="a PNG file (default: NAME.png)")


def run(args: argparse.Namespace) -> int:
    from physplan.errors import PhysPlanError
    from physplan_sandbox.samples import first_frame, names, sample

    if args.list:
        width = max(map(len, names()))
        for name in names():
            print(f"{name:{width}}  {sample(name).prompt}")
        return 0
    if not 0 <= args.number < 10_000:
        raise PhysPlanError(f"--number is {args.number}: give a whole number from 0 to 9999.")
    shown = sample(args.name, args.number)
    path = Path(args.output or f"{args.name}.png")
    if path.suffix.lower() != ".png":
        raise PhysPlanError(f"{path}: give a file that ends in .png with -o.")
    encoded = io.BytesIO()
    first_frame(shown).save(encoded, "PNG")
    _write(path, encoded.getvalue())
    print(f"The picture is {path}. What happens in it:")
    print(f'  physplan generate --image {path} --prompt "{shown.prompt}"')
    return 0


def _write(path: Path, content: bytes) -> None:
    """Refuse to overwrite a picture that is not ours."""
    from physplan.errors import PhysPlanError
    from physplan.files import write_atomic

    if path.is_dir() or (path.exists() and path.read_bytes() != content):
        raise PhysPlanError(f"{path} is there already: choose another file with -o.")
    try:
        write_atomic(path, content)
    except OSError as error:
        raise PhysPlanError(f"{path} cannot be written: {error.strerror or error}.") from None
