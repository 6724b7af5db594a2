"""`physplan generate`: from a picture and a sentence to a video."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli import recipe
from physplan.errors import PhysPlanError
from physplan.foreign import plain
from physplan.runs import layout

if TYPE_CHECKING:
    from physplan.pipeline import Result, RunEvent
    from physplan.pipeline.forecast import Forecast

EXAMPLES = """
examples:
  physplan sample ice-tray -o ice.png                                            # a picture to try this with
  physplan generate --image ice.png --prompt "an ice cube melting in the sun"
  physplan generate --image ice.png --prompt "..." --preset paper --budget 1.00 -o runs/ice
  physplan generate --image ice.png --prompt "..." --preset paper --dry-run      # work, calls, cost, memory
  physplan generate --image ice.png --plan plan.json -o runs/ice                 # a plan edited by hand
  physplan generate --image ice.png --prompt "..." -o runs/ice --seed 1 --redo   # samples again, no more
  physplan generate --image ice.png --prompt "..." --config mine.yaml --set video.num_inference_steps=30

A run that was stopped, killed or out of disk goes on with the same command; nothing is paid twice.
"""

FIELDS = {name: f"video.{name}" for name in ("num_frames", "height", "width", "num_inference_steps")}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "generate",
        help="make a video of what happens next in a picture",
        description="Make a video of what happens next in a picture: plan, keyframes, sampling, report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--image", metavar="FILE", required=True, help="the first frame: PNG, JPEG or WebP")
    parser.add_argument("--prompt", metavar="TEXT", help="what happens, in a sentence (or give --plan)")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="the run's folder (default: runs/PICTURE-PROMPT-METHOD-seedN)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the sampling (default: 0)")
    methods = "physplan (default), sketch, storyboard (no video model), frame_guidance, base, ..."
    parser.add_argument("--method", default="physplan", metavar="NAME", help=methods)
    parser.add_argument("--plan", metavar="FILE", help="use this plan instead of making one")
    parser.add_argument("--keyframes", metavar="DIR", help="use 1.png, 2.png, ... of a folder; needs --plan")
    parser.add_argument(
        "--redo", action="store_true", help="in a folder with other settings: redo what differs"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done, called, paid and needed"
    )
    group = recipe.add_arguments(parser)
    for name in FIELDS:
        group.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=argparse.SUPPRESS)
    group.add_argument(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1 (default: a GPU where there is one)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from physplan.pipeline import PhysPlan

    changes = recipe.overrides(args, device="runtime.device", **FIELDS)
    pp = PhysPlan.from_preset(recipe.source(args), **changes)
    given = {
        "prompt": args.prompt,
        "plan": args.plan,
        "keyframes": _keyframes(args.keyframes),
        "seed": args.seed,
        "method": args.method,
    }
    folder = Path(args.output or default_folder(args))
    if args.dry_run:
        _show_forecast(pp.forecast(args.image, output_dir=folder, redo=args.redo, **given), pp)
        return 0
    from physplan.cli.progress import Display
    from physplan.pipeline.events import quiet_libraries

    with Display(folder) as display:

        def on_event(event: RunEvent) -> None:
            display(event)
            quiet_libraries()  # loads them, so not before the first event: by then nothing is refused

        try:
            result = pp.generate(args.image, output_dir=folder, redo=args.redo, on_event=on_event, **given)
        except KeyboardInterrupt:
            display.stop()
            print(
                f"Stopped. The same command goes on where this one was; all is in {plain(folder)}.",
                file=sys.stderr,
            )
            return 130
    _show_result(result, folder)
    return 0


def _keyframes(folder: str | None) -> list[Path] | None:
    if folder is None:
        return None
    found = sorted((p for p in Path(folder).glob("*.png") if p.stem.isdigit()), key=lambda p: int(p.stem))
    if not found:
        raise PhysPlanError(f"{folder} holds no keyframes: name them 1.png, 2.png and so on.")
    return found


def default_folder(args: argparse.Namespace) -> Path:
    """Picture, words, a given plan, method and seed: another of these is another folder."""
    words = [Path(args.image).stem, args.prompt or "", Path(args.plan).stem if args.plan else ""]
    words = [re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:48].rstrip("-") for word in words]
    return Path("runs") / "-".join([*filter(None, words), args.method, f"seed{args.seed}"])


def _show_forecast(found: Forecast, pp: Any) -> None:
    for item in found.work:
        state = "done" if item.done else "to do"
        calls = f"; {item.calls} calls" if item.calls else ""
        usd = (
            "" if not item.calls else ", price unknown" if item.usd is None else f", about {item.usd:.2f} USD"
        )
        print(f"{item.stage:10} {state:6} {item.what}{calls}{usd}")
    assumed = "" if found.known_events else f" if the plan has {found.events} events"
    cost = "an unknown price" if found.usd is None else f"about {found.usd:.2f} USD"
    print(f"Calls: {found.calls}, {cost}{assumed}; a budget (--budget) is kept whatever happens.")
    print(f"Memory on {pp.config.runtime.device}: {found.memory or 'about 1.5 GB, all models together'}.")
    for lacking in found.missing:
        print(f"Missing here: {lacking.what} ({lacking.fix}).")
    print("Nothing was done.")


def _show_result(result: Result, folder: Path) -> None:
    for note in result.notes:
        print(f"note: {plain(note)}")
    if result.cost.calls.calls:
        print(f"Calls: {result.cost.calls.calls} answered, {result.cost.usd:.4f} USD in all.")
    seconds = sum(result.cost.seconds.values())
    print(
        f"The video is {plain(folder / layout.VIDEO)} ({len(result.video)} frames, {seconds:.0f} s of work)."
    )
    print(f"How it came about: {plain(folder / layout.REPORT)}")
