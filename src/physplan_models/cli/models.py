"""Weights by preset: which are on this machine, and fetch the others once."""

from __future__ import annotations

import argparse
from typing import Any

from physplan import machine, plugins
from physplan.cli.parsers import add_command
from physplan.errors import PhysPlanError
from physplan.machine import Weights, WeightSet
from physplan.registry import did_you_mean

_EXAMPLES = """\
examples:
  physplan models list
  physplan models get photo
"""


def add_parser(subparsers: Any) -> None:
    about = "list the weights of the presets, or fetch those of one"
    parser = add_command(subparsers, "models", None, about, __doc__, _EXAMPLES)
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the weights of every preset, or of one")
    listing.add_argument("preset", nargs="?", help="a preset's name")
    listing.set_defaults(run=run_list)
    getting = actions.add_parser("get", help="fetch the weights of a preset")
    getting.add_argument("preset", help="a preset's name")
    getting.set_defaults(run=run_get)


def run_list(args: argparse.Namespace) -> int:
    for preset in [_known(args.preset)] if args.preset else presets():
        rows = list(listed(preset))
        print(f"{preset}:" if rows else f"{preset}: no weights of its own")
        for one in rows:
            state = str(one.path) if one.path else "missing" + (" (optional)" if one.optional else "")
            print(f"  {one.name:36} {state}\n    {one.about}")
    return 0


def run_get(args: argparse.Namespace) -> int:
    preset = _known(args.preset)
    missing = [one for one in listed(preset) if one.path is None]
    if missing:
        own = weight_set(preset)
        if own is not None:
            own.get(_say)
        for one in missing:
            if "/" in one.name:
                _say(f"{one.name} from the Hugging Face hub")
                from_hub(one.name)
    absent = [one for one in listed(preset) if one.path is None]
    for one in absent:
        print(f"Without {one.name}: {one.about}.")
    print(f"The preset {preset} has {'what it needs' if absent else 'all its weights'} on this machine.")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


def presets() -> list[str]:
    from physplan.presets import PRESETS

    return list(dict.fromkeys([*plugins.entries("weights"), *PRESETS]))


def _known(preset: str) -> str:
    if preset not in presets():
        raise PhysPlanError(f"There is no preset called {preset!r}. {did_you_mean(preset, presets())}")
    return preset


def weight_set(preset: str) -> WeightSet | None:
    entry = plugins.entries("weights").get(preset)
    found: WeightSet | None = plugins.load(entry) if entry else None
    return found


def listed(preset: str) -> list[Weights]:
    """A package's own files first, then the hub's repositories."""
    from physplan.presets import PRESETS

    own = weight_set(preset)
    hub = PRESETS[preset].weights if preset in PRESETS else ()
    folder = machine.weights_folder()
    return [
        *(own.listed() if own is not None else ()),
        *(
            Weights(
                name=name,
                about="from the Hugging Face hub",
                path=folder / f"models--{name.replace('/', '--')}" if machine.has_weights(name) else None,
            )
            for name in hub
        ),
    ]


def from_hub(name: str) -> None:
    """All of a repository but weights in formats that PhysPlan does not load."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    if machine.asks_for_access(name):
        needed = machine.gated(name)
        raise PhysPlanError(f"{needed.what[0].upper()}{needed.what[1:]} is missing: {needed.fix}.")
    try:
        snapshot_download(
            name, ignore_patterns=["*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.onnx"]
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise PhysPlanError(
            f"The weights {name} could not be fetched from the hub ({first}): go online, or put a copy of the"
            f" repository into {machine.weights_folder()}."
        ) from error
