"""The recipe on the command line: a preset or a config file, and the fields that are set otherwise."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from physplan.cli.parsers import add_set
from physplan.errors import PhysPlanError
from physplan.settings import DEFAULT_PRESET


def add_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("the recipe")
    known = f"{DEFAULT_PRESET} (default), storyboard, cloud, home, desk, open, paper, best"
    group.add_argument("--preset", metavar="NAME", help=known)
    group.add_argument(
        "--config", metavar="FILE", help="a YAML or TOML file; its `preset:` is what it changes"
    )
    add_set(group)
    group.add_argument("--budget", type=float, metavar="USD", help="make no call that could exceed this")
    group.add_argument(
        "--allow-host", action="append", metavar="HOST", help="a server of base_url that may be sent a key"
    )
    return group


def source(args: argparse.Namespace) -> Any:
    if args.config is None:
        return args.preset or DEFAULT_PRESET
    if args.preset is not None:
        raise PhysPlanError("Give --preset or --config, not both: a config file names its preset itself.")
    return args.config


def overrides(args: argparse.Namespace, **fields: str) -> dict[str, Any]:
    """`--set`, and the options that stand for a field: `num_frames="video.num_frames"`."""
    from physplan.pipeline.config_loading import read_assignments

    found = read_assignments(args.set)
    always = {"budget": "runtime.budget", "allow_host": "runtime.allow_hosts"}
    for option, field in {**always, **fields}.items():
        if (value := getattr(args, option)) is not None:
            found[field] = value
    return found


class _Refused(argparse.Action):
    """An option of before: its sentence names what does its work."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        option = self.option_strings[0]
        raise PhysPlanError(f"{option} is no option of {parser.prog} any more: use {self.metavar}.")


def refuse_options(parser: argparse.ArgumentParser, gone: Mapping[str, str]) -> None:
    """`gone` maps options of before to what replaces them."""
    for option, instead in gone.items():
        parser.add_argument(
            option,
            nargs="?",
            action=_Refused,
            metavar=instead,
            help=argparse.SUPPRESS,
            dest=argparse.SUPPRESS,
        )
