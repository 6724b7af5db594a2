"""Let something happen in a photograph: a sentence with a verb, objects by name, box or click; keyframes
are composed from the photograph, and the sketch is the video."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli.parsers import add_command, add_set
from physplan.errors import PhysPlanError
from physplan.foreign import plain

if TYPE_CHECKING:
    from physplan.pipeline import PhysPlan

EXAMPLES = """
examples:
  physplan models get photo                                                  # once: 81 MB of weights
  physplan photo coffee.png --prompt "the cup slides to the left"            # found by its name
  physplan photo rocket.jpg --prompt "the rocket rises" --object "rocket:300,20,380,420"
  physplan photo street.jpg --prompt "the car drives off to the left" --object "car@420,300" -o runs/car
  physplan photo desk.jpg --prompt "the lamp goes out" --masks my-masks      # my-masks/lamp.png
  physplan photo street.jpg --prompt "..." -o runs/car --export-ttm ttm/car  # for Time-to-Move
  physplan photo street.jpg --prompt "..." --set reasoner.name=open-motion --set reasoner.base_url=URL
  physplan generate --image street.jpg --plan runs/car/plan.json --preset home -o runs/car-home

The verbs are in docs/photo.md. A run that was stopped goes on with the same command.
"""
DEFAULT_WIDTH = 704
VERBS = "verbs"  # the reasoner without a model


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "let something happen in your own photograph, on a CPU, without a key"
    parser = add_command(subparsers, "photo", run, about, __doc__, EXAMPLES)
    parser.add_argument("picture", metavar="PICTURE", help="PNG, JPEG or WebP")
    parser.add_argument("--prompt", metavar="TEXT", help='what happens: "the cup slides off the table"')
    parser.add_argument(
        "--object",
        action="append",
        default=[],
        metavar="NAME[:BOX|@X,Y]",
        help="an object: car:left,top,right,bottom, cup@x,y or dog; in the photograph's pixels",
    )
    parser.add_argument("--masks", metavar="DIR", help="masks of your own: car.png is white where the car is")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="the run's folder (default: runs/PICTURE-PROMPT)"
    )
    parser.add_argument(
        "--width", type=int, default=DEFAULT_WIDTH, metavar="N", help="of the video (default: 704)"
    )
    parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="of the video (default: 2)")
    parser.add_argument("--plan", metavar="FILE", help="use this plan instead of the sentence's verbs")
    parser.add_argument(
        "--redo", action="store_true", help="in a folder with other settings: redo what differs"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done and needed")
    add_set(parser, "any field of the recipe")
    parser.add_argument(
        "--export-ttm",
        metavar="DIR",
        help="also write first frame, warped video and mask video for Time-to-Move",
    )


def run(args: argparse.Namespace) -> int:
    from physplan.pictures import open_picture
    from physplan.pipeline import PhysPlan
    from physplan.pipeline.config_loading import read_assignments
    from physplan_photo.cli.given import frame_size, object_options
    from physplan_photo.grammar.clauses import check_prompt

    if args.prompt is None and args.plan is None:
        raise PhysPlanError('Say what happens: --prompt "the cup slides to the left" (docs/photo.md).')
    if not 0.2 <= args.seconds <= 60:
        raise PhysPlanError(f"--seconds {args.seconds:g} is no length for a video: give 0.2 to 60.")
    chosen = read_assignments(args.set)
    by_verbs = args.plan is None and chosen.get("reasoner.name", VERBS) == VERBS
    if args.prompt is not None and by_verbs:
        check_prompt(args.prompt)
    picture = open_picture(args.picture)
    width, height = frame_size(picture.size, args.width)
    changes: dict[str, Any] = {
        "video.width": width,
        "video.height": height,
        "video.num_frames": 8 * max(1, round(args.seconds * 24 / 8)) + 1,
        **chosen,
    }
    options = object_options(args, picture, (width, height), by_verbs=by_verbs)
    if options:
        changes["perception.segmenter.options"] = options
    pp = PhysPlan.from_preset("photo", **changes)
    folder = Path(args.output or default_folder(args))
    given = {"prompt": args.prompt, "plan": args.plan}
    if args.dry_run:
        return _forecast(pp, args, folder, given)
    code = _generate(pp, args, folder, given)
    if not code and args.export_ttm is not None:
        from physplan_photo.cli.time_to_move import export_ttm

        print(f"For Time-to-Move: {plain(export_ttm(folder, Path(args.export_ttm)))}")
    return code


def default_folder(args: argparse.Namespace) -> Path:
    words = [Path(args.picture).stem, args.prompt or Path(args.plan).stem]
    words = [re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:48].rstrip("-") for word in words]
    return Path("runs") / "-".join([*filter(None, words), "photo"])


def _forecast(pp: PhysPlan, args: argparse.Namespace, folder: Path, given: dict[str, Any]) -> int:
    found = pp.forecast(args.picture, output_dir=folder, redo=args.redo, with_memory=False, **given)
    for item in found.work:
        print(f"{item.stage:10} {'done' if item.done else 'to do':6} {item.what}")
    print(f"Calls: {found.calls or 'none'}. Memory: about 1.5 GB. No GPU.")
    for one in found.missing:
        print(f"Missing here: {one.what} ({one.fix}).")
    print("Nothing was done.")
    return 0


def _generate(pp: PhysPlan, args: argparse.Namespace, folder: Path, given: dict[str, Any]) -> int:
    from physplan.cli.generate import show_made
    from physplan.cli.progress import Display
    from physplan_photo.features import encoder_name

    with Display(folder, preview=False) as display:
        try:
            result = pp.generate(args.picture, output_dir=folder, redo=args.redo, on_event=display, **given)
        except KeyboardInterrupt:
            display.stop()
            print(f"Stopped. The same command goes on; all is in {plain(folder)}.", file=sys.stderr)
            return 130
    show_made(result, folder)
    print(f"This verdict is the simple one: composed masks and {encoder_name()}, no large encoder.")
    return 0
