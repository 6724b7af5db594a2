"""The `physplan` command. One module per subcommand; heavy imports happen only when a command runs."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Mapping, Sequence

from physplan import __version__, plugins
from physplan.errors import PhysPlanError
from physplan.foreign import plain
from physplan.graph.errors import GraphError
from physplan.registry import did_you_mean

# Each module holds `add_parser(subparsers)`, which sets `run=<function(args) -> exit code>`. Installed
# packages add theirs as entry points of the group `physplan.commands`.
OWN = ("generate", "report", "plan", "graph", "show", "verify")
OTHER = "From installed packages"
# Heading -> command -> an example of it; commands that no heading names come under OTHER.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Try it": {"demo": "physplan demo", "sample": "physplan sample ice-tray -o ice.png"},
    "Make a video": {
        "photo": 'physplan photo car.jpg --prompt "the car drives off to the left"',
        "generate": 'physplan generate --image ice.png --prompt "an ice cube melting in the sun"',
        "batch": "physplan batch videos.csv -o out",
        "studio": "physplan studio",
        "serve": "physplan serve --host 127.0.0.1",
    },
    "Plans and results": {
        "plan": 'physplan plan --image ice.png --prompt "an ice cube melting in the sun" -o plan.json',
        "show": "physplan show plan.json -o plan.png",
        "report": "physplan report runs/ice",
        "verify": "physplan verify video.mp4 --plan plan.json --image photo.png",
        "verify-origin": "physplan verify-origin signed.mp4",
    },
    "This machine": {
        "doctor": "physplan doctor",
        "models": "physplan models get photo",
        "accept": "physplan accept home -o acceptance",
    },
    "Research and debugging": {
        "evaluate": "physplan evaluate sandbox --quick",
        "study": "physplan study serve study",
        "graph": "physplan graph --graph graph.json --edits edits.json --delta delta.json",
        "test-certificate": "physplan test-certificate -o trying",
    },
}
START = """\
Start here:
  physplan demo                                    an open tap, in three scenes: a minute, no key, no card
  physplan sample ice-tray -o ice.png              a picture to try things with
  physplan generate --image ice.png --prompt "an ice cube melting in the sun"
  physplan photo PHOTO --prompt "the car drives off to the left"    your own photograph
  physplan doctor                                  what this machine can do, and what the rest needs
"""


MOVED = {  # commands of before, and what does their work
    "validate": "physplan graph --graph G.json --edits E.json --delta D.json",
    "apply": "physplan graph --graph G.json --edits E.json [-o FILE]",
}


def commands() -> dict[str, str]:
    """Name -> module, in the order of the help."""
    own = {name: f"physplan.cli.{name}" for name in OWN}
    found = own | dict(plugins.entries("commands"))
    order = [name for group in GROUPS.values() for name in group]
    return {name: found[name] for name in sorted(found, key=lambda name: (*order, name).index(name))}


def overview(helps: Mapping[str, str]) -> str:
    """What `physplan` alone prints: where to start, and each command with its example, in groups."""
    named = {name for group in GROUPS.values() for name in group}
    others = {name: f"physplan {name} --help" for name in helps if name not in named}
    *first, last = GROUPS.items()
    groups = [*first, *([(OTHER, others)] if others else []), last]
    lines = ["Give PhysPlan a picture and a sentence; get a video in which that happens.", "", START]
    for heading, examples in groups:
        lines.append(f"{heading}:")
        for name, example in examples.items():
            if name in helps:
                lines += [f"  {name:17}{helps[name]}", f"  {'':17}  {example}"]
        lines.append("")
    lines.append("physplan COMMAND --help explains a command; physplan --version says which this is.")
    return "\n".join(lines)


class _Parser(argparse.ArgumentParser):
    """Its help is the overview; parsers of commands are argparse's own."""

    def format_help(self) -> str:
        actions = self._subparsers._group_actions if self._subparsers else []  # no public way
        found = [one for action in actions for one in getattr(action, "_choices_actions", ())]
        helps = {one.dest: one.help or "" for one in found}
        return overview(helps) + "\n"


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="physplan", usage="physplan [--version] COMMAND ...")
    parser.add_argument("--version", action="version", version=f"physplan {__version__}")
    subparsers = parser.add_subparsers(
        prog="physplan", title="commands", metavar="COMMAND", parser_class=argparse.ArgumentParser
    )
    for module in commands().values():
        plugins.load(module).add_parser(subparsers)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    if argv and argv[0] in MOVED:
        raise PhysPlanError(f"`physplan {argv[0]}` is now `{MOVED[argv[0]]}`.")
    if argv and not argv[0].startswith("-") and argv[0] not in (known := commands()):
        raise PhysPlanError(f"There is no command {argv[0]!r}. {did_you_mean(argv[0], known)}")
    return build_parser().parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    try:
        args = parse(sys.argv[1:] if argv is None else argv)
        if not hasattr(args, "run"):
            build_parser().print_help()
            return 0
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
    except MemoryError:
        print(
            "physplan: not enough memory: close other programs, or choose a smaller video.", file=sys.stderr
        )
        return 2
    except OSError as error:
        where = plain(error.filename or "a file")
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = ": make room and give the same command again; what is done is kept" if full else ""
        print(f"physplan: {where}: {plain(error.strerror or error)}{remedy}.", file=sys.stderr)
        return 2
