"""Make a video of what happens next in a picture: plan, keyframes, sampling, report."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan import plugins
from physplan.cli import recipe
from physplan.cli.parsers import add_command
from physplan.errors import PhysPlanError
from physplan.foreign import plain
from physplan.runs import layout
from physplan.settings import DEFAULT_PRESET

if TYPE_CHECKING:
    from physplan.pipeline import PhysPlan, Result
    from physplan.pipeline.forecast import Forecast
    from physplan.runs.records import Attempt
    from physplan.verify import Checked

EXAMPLES = """
examples:
  physplan sample ice-tray -o ice.png                                            # a picture to try this with
  physplan generate --image ice.png --prompt "an ice cube melting in the sun"
  physplan generate --image ice.png --prompt "..." --preset paper --budget 1.00 -o runs/ice
  physplan generate --image ice.png --prompt "..." --preset paper --dry-run      # work, calls, cost, memory
  physplan generate --image ice.png --plan plan.json -o runs/ice                 # a plan edited by hand
  physplan generate --image ice.png --prompt "..." -o runs/ice --seed 1 --redo   # samples again, no more
  physplan generate --image ice.png --prompt "..." --attempts 3                  # until it holds
  physplan generate --image ice.png --prompt "..." --with-base                   # base model, to compare
  physplan generate --image ice.png --prompt "..." --seeds 0-3 -o runs/ice       # four videos of one plan
  physplan generate --image ice.png --prompt "..." --config mine.yaml --set video.num_inference_steps=30

A run that was stopped, killed or out of disk goes on with the same command; nothing is paid twice.
"""

MOST_SEEDS = 1_000
COLOURS = {"holds": "green", "doubtful": "yellow", "fails": "bold red", "not checked": "dim"}
FIELDS = {name: f"video.{name}" for name in ("num_frames", "height", "width", "num_inference_steps")}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "make a video of what happens next in a picture"
    parser = add_command(subparsers, "generate", run, about, __doc__, EXAMPLES)
    parser.add_argument("--image", metavar="FILE", required=True, help="the first frame: PNG, JPEG or WebP")
    parser.add_argument("--prompt", metavar="TEXT", help="what happens, in a sentence (or give --plan)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="the run's folder (default: runs/PICTURE-PROMPT-PRESET-METHOD-seedN)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="of the sampling (default: 0)")
    parser.add_argument(
        "--seeds",
        metavar="0-3",
        help="a video for each, in DIR/seed0 and so on: 0-3 or 0,2,5; one plan for all",
    )
    parser.add_argument(
        "--attempts",
        type=int,
        default=1,
        metavar="N",
        help="at most N, until the video is found to show the plan; each changes what the verdict asks for",
    )
    parser.add_argument(
        "--with-base", action="store_true", help="the video model alone too, beside the video in the report"
    )
    methods = "physplan, guided_sketch, sketch, storyboard, conditioned, base, ... (default: the preset's)"
    parser.add_argument("--method", metavar="NAME", help=methods)
    parser.add_argument("--plan", metavar="FILE", help="use this plan instead of making one")
    parser.add_argument("--keyframes", metavar="DIR", help="use 1.png, 2.png, ... of a folder; needs --plan")
    parser.add_argument(
        "--redo", action="store_true", help="in a folder with other settings: redo what differs"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done, called, paid and needed"
    )
    parser.add_argument(
        "--sign",
        nargs=2,
        metavar=("CERTIFICATE", "KEY"),
        help="also write signed.mp4, with content credentials: PEM files",
    )
    group = recipe.add_arguments(parser)
    for name in FIELDS:
        group.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=argparse.SUPPRESS)
    group.add_argument(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1 (default: a GPU where there is one)"
    )


def run(args: argparse.Namespace) -> int:
    from physplan.pipeline import PhysPlan

    changes = recipe.overrides(args, device="runtime.device", **FIELDS)
    pp = PhysPlan.from_preset(recipe.source(args), **changes)
    args.method = args.method or pp.config.method
    given = {
        "prompt": args.prompt,
        "plan": args.plan,
        "keyframes": given_keyframes(args.keyframes),
        "method": args.method,
        "attempts": args.attempts,
    }
    seeds = read_seeds(args.seeds) if args.seeds is not None else [args.seed or 0]
    if args.seeds is not None and (args.seed is not None or args.attempts > 1):
        raise PhysPlanError("--seeds makes a video of each seed: leave out --seed and --attempts.")
    folder = Path(args.output or default_folder(args))
    folders = [folder if args.seeds is None else folder / f"seed{seed}" for seed in seeds]
    if args.dry_run:
        found = pp.forecast(args.image, output_dir=folders[0], redo=args.redo, seed=seeds[0], **given)
        _show_forecast(found, pp, videos=len(seeds))
        return 0
    sign = _signer(args.sign)
    for seed, one in zip(seeds, folders, strict=True):
        if args.seeds is not None:
            print(f"Seed {seed}:")
        reuse = folders[0] if len(folders) > 1 else None
        if _generate(pp, args, one, {**given, "seed": seed, "reuse": reuse, "with_base": args.with_base}):
            return 130
        if sign is not None:
            print(f"Signed: {plain(sign(one))}")
    return 0


def _signer(files: Sequence[str] | None) -> Callable[[Path], Path] | None:
    """Its certificate and key are read before anything is made."""
    if files is None:
        return None
    if (entry := plugins.entries("signers").get("c2pa")) is None:
        raise PhysPlanError("--sign needs the package physplan_signing: install PhysPlan again.")
    make: Callable[..., Callable[[Path], Path]] = plugins.load(entry)
    return make(*files)


def _generate(pp: PhysPlan, args: argparse.Namespace, folder: Path, given: dict[str, Any]) -> int:
    from physplan.cli.progress import Display

    with Display(folder, preview=args.attempts == 1) as display:
        try:
            result = pp.generate(args.image, output_dir=folder, redo=args.redo, on_event=display, **given)
        except KeyboardInterrupt:
            display.stop()
            print(
                f"Stopped. The same command goes on where this one was; all is in {plain(folder)}.",
                file=sys.stderr,
            )
            return 130
    show_made(result, folder)
    return 0


def read_seeds(text: str) -> list[int]:
    """`0-3`, `0,2,5`, or both: `0-2,7`."""
    found: list[int] = []
    for part in text.split(","):
        matched = re.fullmatch(r"\s*(\d{1,18})(?:\s*-\s*(\d{1,18}))?\s*", part)
        first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, 0)
        if last < first or len(found) + last - first >= MOST_SEEDS:
            raise PhysPlanError(
                f"--seeds {text!r} cannot be read: give 0-3 or 0,2,5, at most {MOST_SEEDS} of them."
            )
        found += range(first, last + 1)
    return list(dict.fromkeys(found))


def given_keyframes(folder: str | None) -> list[Path] | None:
    if folder is None:
        return None
    found = sorted((p for p in Path(folder).glob("*.png") if p.stem.isdigit()), key=lambda p: int(p.stem))
    if not found:
        raise PhysPlanError(f"{folder} holds no keyframes: name them 1.png, 2.png and so on.")
    return found


def default_folder(args: argparse.Namespace) -> Path:
    """Picture, words, a given plan, recipe, method and seed: another of these is another folder."""
    words = [Path(args.image).stem, args.prompt or "", Path(args.plan).stem if args.plan else ""]
    recipe_named = Path(args.config).stem if args.config else args.preset or ""
    words.append("" if recipe_named == DEFAULT_PRESET else recipe_named)
    words = [re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:48].rstrip("-") for word in words]
    seeds = f"seeds{args.seeds.replace(' ', '')}" if args.seeds is not None else f"seed{args.seed or 0}"
    more = [f"attempts{args.attempts}"] if args.attempts > 1 else []
    return Path("runs") / "-".join([*filter(None, words), args.method, seeds, *more])


def _show_forecast(found: Forecast, pp: PhysPlan, *, videos: int = 1) -> None:
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
    if videos > 1:
        print(f"This for the first of {videos} videos; the others are sampled, decoded and checked, no more.")
    print(f"Memory on {pp.config.runtime.device}: {_memory(found)}.")
    for lacking in dict.fromkeys([*found.missing, *found.wanted]):
        print(f"Missing here: {lacking.what} ({lacking.fix}).")
    print("Nothing was done.")


def _memory(found: Forecast) -> str:
    if found.stages:
        listed = ", ".join(f"{stage} {gb}" for stage, gb in found.stages.items())
        return f"{max(found.stages.values())} GB at most ({listed})"
    if found.memory is not None:
        return f"sampling {found.memory}"
    return "about 1.5 GB, all models together; no large video model"


def show_verdict(verdict: Checked) -> None:
    """In its own colour: nothing is green that was not found to be right."""
    from rich.console import Console
    from rich.text import Text

    Console(soft_wrap=True).print(Text(plain(verdict.sentence()), style=COLOURS[verdict.verdict]))


def show_attempts(attempts: Sequence[Attempt]) -> None:
    if not attempts:
        return
    told = [
        ("; ".join(f"{it.what} ({it.why})" for it in one.changed) or f"seed {one.seed}")
        + f": {one.verdict}"
        + ("" if one.score is None else f" ({one.score:.2f})")
        for one in attempts
    ]
    kept = next((number for number, one in enumerate(attempts, 1) if one.chosen), 1)
    print(f"Attempts: {len(attempts)} made, number {kept} kept.")
    for number, line in enumerate(told, 1):
        print(plain(f"  {number}. {line}."))


def show_made(result: Result, folder: Path) -> None:
    for note in result.notes:
        print(f"note: {plain(note)}")
    if result.cost.calls.calls:
        print(f"Calls: {result.cost.calls.calls} answered, {result.cost.usd:.4f} USD in all.")
    seconds = sum(result.cost.seconds.values())
    print(
        f"The video is {plain(folder / layout.VIDEO)} ({len(result.video)} frames, {seconds:.0f} s of work)."
    )
    print(f"How it came about: {plain(folder / layout.REPORT)}")
    show_attempts(result.attempts)
    show_verdict(result.verdict)
