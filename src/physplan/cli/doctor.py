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
    for name, preset in found["presets"].items():
        preset["usd"] = usd(name)
        preset["steps"], preset["repeats"] = work(name)
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
    console.print(Text.assemble("\nFor pictures of your own, the best here: ", (found["best"], "bold")))
    for name, preset in found["presets"].items():
        ready = Text("ready", style="bold green") if preset["ready"] else Text("not yet", style="bold yellow")
        console.print(Text.assemble("\n", (name, "bold"), ": ", ready, (f"  {preset['about']}", "dim")))
        console.print(Text(f"  {_cost(preset)}", style="dim"), soft_wrap=True)
        for item in preset["missing"]:
            line = Text.assemble(f"  - {item['kind']}: {item['what']}", (f"  {item['fix']}", "dim"))
            console.print(line, soft_wrap=True)
        for told in _terms(preset["terms"]):
            console.print(Text(f"  {told}", style="dim"), soft_wrap=True)


def _terms(found: dict[str, dict[str, str]]) -> list[str]:
    """What of the preset may not simply be used for money; the rest is in docs/responsible-use.md."""
    from physplan.presets.terms import Terms

    return [
        f"terms: {Terms(**terms).sentence(model)}"
        for model, terms in found.items()
        if terms["commercial"] != "yes"
    ]


def _cost(preset: dict[str, Any]) -> str:
    """One line: memory by stage, work and money."""
    stages = ", ".join(f"{stage} {gb} GB" for stage, gb in preset["stages"].items())
    card = f"{preset['gpu_memory_gb']} GB on the GPU ({stages})" if stages else "no GPU"
    server = preset["server_memory_gb"]
    beside = f"; the server's own model about {server:.0f} GB" if server else ""
    usd = preset["usd"]
    money = "" if usd is None else f"; about {usd:.2f} USD a video" if usd else "; no money"
    steps, repeats = preset["steps"], preset["repeats"]
    guided = f" and at most {repeats} guided repeats" if repeats else ""
    on_gpu = " (time on a GPU was not measured)" if stages else ""
    time = f"; {steps} steps{guided} a video{on_gpu}" if steps else "; no sampling"
    return f"{card}{beside}{time}{money}"


def work(name: str) -> tuple[int, int]:
    """What a video takes in time, as far as it is known everywhere: steps, and guided repeats at most."""
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults
    from physplan.pipeline.methods import STORYBOARD, guidance_of

    config = with_defaults(load_config(name))
    steps = 0 if config.method == STORYBOARD else config.video.num_inference_steps or 0
    schedule = guidance_of(config.method, config).schedule
    return steps, sum(schedule.at(n) for n in range(steps))


def usd(name: str) -> float | None:
    """List price of a video of three events; None where it is not known."""
    from physplan.calls.outlay import outlay
    from physplan.keyframes.registry import EDITORS
    from physplan.pipeline.config_loading import load_config
    from physplan.reasoning.registry import REASONERS

    config = load_config(name)
    prices: list[float | None] = []
    if config.reasoner.name in REASONERS.callers:
        prices.append(outlay(REASONERS.load(config.reasoner.name), 3, model=config.reasoner.model).usd)
    if config.editor.name in EDITORS.callers:
        model, size = (str(config.editor.options[name]) for name in ("model", "image_size"))
        prices.append(outlay(EDITORS.load(config.editor.name), 3, model=model, size=size).usd)
    return None if None in prices else round(sum(price or 0.0 for price in prices), 2)
