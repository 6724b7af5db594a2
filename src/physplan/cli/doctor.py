"""`physplan doctor`: what this machine has, and which presets can run on it."""

from __future__ import annotations

import argparse
import json
from typing import Any

_EXAMPLES = """\
examples:
  physplan doctor
  physplan doctor --json
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="what this machine has, and which presets can run on it",
        description="Versions, devices, memory, disk; which presets can run, and what the others lack.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from physplan.machine import survey

    found = survey()
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found)
    return 0


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    versions = {name: version for name, version in found["versions"].items() if version}
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("versions", ", ".join(f"{name} {version}" for name, version in versions.items()))
    absent = [name for name, version in found["versions"].items() if not version]
    if absent:
        table.add_row("not installed", ", ".join(absent))
    gpus = ", ".join(f"{gpu['name']} ({gpu['memory_gb']} GB)" for gpu in found["gpus"]) or "no CUDA GPU"
    table.add_row("devices", f"{found['platform']}, {found['cpus']} CPUs, {gpus}")
    table.add_row("memory", f"{found['memory_gb']} GB")
    place = found["disk"]
    table.add_row(
        "free disk", f"{place['here_gb']} GB here, {place['weights_gb']} GB for weights ({place['weights']})"
    )
    console.print(table)
    for name, preset in found["presets"].items():
        ready = Text("ready", style="bold green") if preset["ready"] else Text("not yet", style="bold yellow")
        console.print(Text.assemble("\n", (name, "bold"), ": ", ready, (f"  {preset['about']}", "dim")))
        if preset["memory"]:
            console.print(Text(f"  {_memory(preset['memory'])}", style="dim"), soft_wrap=True)
        for item in preset["missing"]:
            line = Text.assemble(f"  - {item['kind']}: {item['what']}", (f"  {item['fix']}", "dim"))
            console.print(line, soft_wrap=True)


def _memory(estimate: dict[str, Any]) -> str:
    """One line: the peak per gradient mode, from the fewest events to the most."""
    modes = []
    for mode, peaks in estimate["peak_gb"].items():
        fewest, *_, most = peaks.values()
        span = f"{fewest} GB" if fewest == most else f"{fewest} to {most} GB"
        modes.append(f"{'unguided' if mode == 'none' else mode} {span}")
    return (
        f"{estimate['model']}, {estimate['size']}, estimated peak for 1 to 7 events: {', '.join(modes)}"
        " (other sizes: physplan generate --dry-run)"
    )
