"""The way to a video on this machine, as commands. --all: versions, devices, memory, disk, and for every
preset what it needs, costs and lacks here. --settings: every setting."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli.parsers import add_command

if TYPE_CHECKING:
    from rich.console import Console

    from physplan_models.cli.ways import Way

_EXAMPLES = """\
examples:
  physplan doctor
  physplan doctor --all
  physplan doctor --json
  physplan doctor --settings
"""


def add_parser(subparsers: Any) -> None:
    about = "the way to a video on this machine; --all: what every preset lacks"
    parser = add_command(subparsers, "doctor", run, about, __doc__, _EXAMPLES)
    parser.add_argument("--all", action="store_true", help="versions, and what each preset needs and lacks")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    parser.add_argument(
        "--settings", action="store_true", help="every setting: type, range, default, meaning"
    )


def run(args: argparse.Namespace) -> int:
    from physplan_models.cli.settings_table import table
    from physplan_models.cli.ways import chosen

    if args.settings:
        print(table(), end="")
        return 0
    found = survey()
    for name, preset in found["presets"].items():
        preset["usd"] = usd(name)
        preset["steps"], preset["repeats"] = work(name)
    way = chosen(found)
    found["best"] = way.preset
    if args.json:
        print(json.dumps(found, indent=2))
    elif args.all:
        _print(found)
    else:
        _print_answer(found, way)
    return 0


def survey() -> dict[str, Any]:
    """What this machine has and each preset lacks, as JSON."""
    from physplan import machine
    from physplan.presets import PRESETS
    from physplan.presets.acceptance_figures import accepted_figures
    from physplan_models.cli.terms import terms_of

    memory, devices, folder = machine.memory_gb(), machine.gpus(), machine.weights_folder()
    largest = max((gpu["memory_gb"] for gpu in devices), default=0.0)
    presets = {}
    for name, needs in PRESETS.items():
        lacking = [
            vars(item) for item in machine.missing(needs, memory=memory, gpu_memory=largest, preset=name)
        ]
        presets[name] = {
            "ready": not lacking,
            "about": needs.about,
            "missing": lacking,
            "gpu_memory_gb": needs.gpu_memory_gb,
            "stages": dict(needs.stages or {}),
            "server_memory_gb": needs.server_memory_gb,
            "accepted": accepted_figures(name, [gpu["name"] for gpu in devices]),
            "terms": {model: vars(found) for model, found in terms_of(name).items()},
        }
    return {
        "versions": machine.versions(),
        "platform": f"{platform.system()} {platform.machine()}",
        "executable": sys.executable,
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(memory, 1),
        "gpus": devices,
        "disk": {
            "here_gb": round(machine.disk(Path.cwd()), 1),
            "weights_gb": round(machine.disk(folder), 1),
            "weights": str(folder),
        },
        "presets": presets,
    }


def _print_answer(found: dict[str, Any], way: Way) -> None:
    """One screen: the machine in a line, the steps of its way, the other presets in a line each."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    gpus = ", ".join(f"{gpu['name']} ({gpu['memory_gb']} GB)" for gpu in found["gpus"]) or "no CUDA GPU"
    console.print(
        f"This machine: {found['cpus']} CPUs, {found['memory_gb']} GB of memory, {gpus}, "
        f"{found['disk']['here_gb']:.0f} GB of disk free"
    )
    console.print(f"\nThe way here, with {way.have}: the preset {way.preset}")
    show_way(console, way)
    console.print("\nOther presets:")
    for name, preset in found["presets"].items():
        if name != way.preset:
            lacks = ", ".join(dict.fromkeys(one["kind"] for one in preset["missing"]))
            console.print(Text.assemble("  ", (f"{name:11}", "bold"), f"lacks {lacks}" if lacks else "ready"))
    console.print('The ways with a key, a server or a card: docs/quickstart.md, "Your own picture"')
    console.print("\nTo try PhysPlan without a picture of yours: physplan demo")
    console.print("What each preset needs and costs, and how to get it: physplan doctor --all")


def show_way(console: Console, way: Way) -> None:
    for number, command in enumerate(way.commands, 1):
        console.print(f"  {number}. {command}", markup=False)
    console.print(f"  It makes: {way.gives}.")
    console.print(f"  Download: {way.download}. Money: {way.money}.")
    console.print(f"  Pictures leave the machine: {way.leaves}.")
    console.print(f"  Time: {way.time}.")
    if way.also:
        console.print(f"  It also needs {way.also}.")


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
            line = Text.assemble(f"  - {item['what']}", (f" ({item['fix']})", "dim"))
            console.print(line, soft_wrap=True)
        for told in _terms(preset["terms"]):
            console.print(Text(f"  {told}", style="dim"), soft_wrap=True)


def _terms(found: dict[str, dict[str, str]]) -> list[str]:
    """What of the preset may not simply be used for money; the rest is in docs/responsible-use.md."""
    from physplan_models.cli.terms import Terms

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
    money = (
        "" if usd is None else f"; about {usd:.2f} USD for a video of three events" if usd else "; no money"
    )
    steps, repeats = preset["steps"], preset["repeats"]
    guided = f" and at most {repeats} guided repeats" if repeats else ""
    on_gpu = accepted_words(preset["accepted"]) if stages else ""
    time = f"; {steps} steps{guided} a video{on_gpu}" if steps else "; no sampling"
    return f"{card}{beside}{time}{money}"


def accepted_words(figures: dict[str, Any] | None) -> str:
    """Accepted figures of a card like this one, where there are some."""
    if figures is None:
        return " (time on a GPU was not measured)"
    known = {"base_seconds": "{:.0f} s unguided", "repeat_seconds": "{:.1f} s a repeat"}
    known["memory_gb"] = "{:.1f} GB"
    words = ", ".join(text.format(figures[name]) for name, text in known.items() if name in figures)
    return f" (accepted on this card: {words})"


def work(name: str) -> tuple[int, int]:
    """What a video takes in time, as far as it is known everywhere: steps, and guided repeats at most."""
    from physplan.methods import find
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults
    from physplan.video.known import is_served

    config = with_defaults(load_config(name))
    method = find(config.method)
    here = method.samples and not is_served(config.video.model)
    steps = config.video.sampling.num_inference_steps if here else 0
    guidance = method.guidance(config)
    return steps, sum(guidance.schedule.at(n) for n in range(steps)) if guidance else 0


def usd(name: str) -> float | None:
    """List price of a video of three events; None where it is not known."""
    from physplan.calls.cost_estimate import estimate_cost
    from physplan.keyframes.registry import EDITORS
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults
    from physplan.reasoning.registry import REASONERS
    from physplan.video.known import ServedVideoModel, video_model

    config = load_config(name)
    prices: list[float | None] = []
    if config.reasoner.name in REASONERS.callers:
        prices.append(estimate_cost(REASONERS.load(config.reasoner.name), 3, model=config.reasoner.model).usd)
    if config.editor.name in EDITORS.callers:
        model, size = (str(config.editor.options[name]) for name in ("model", "image_size"))
        prices.append(estimate_cost(EDITORS.load(config.editor.name), 3, model=model, size=size).usd)
    video = video_model(config.video.model)
    if isinstance(video, ServedVideoModel):
        prices.append(video.estimate(with_defaults(config), 3, conditioned=True).usd)
    return None if None in prices else round(sum(price or 0.0 for price in prices), 2)
