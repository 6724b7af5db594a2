"""Show a plan: the objects, what holds what, and what changes at each event. Of a video made with
PhysPlan: its settings, plan, versions and hashes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli.parsers import add_command, add_set

if TYPE_CHECKING:
    from physplan.graph import EventChain

_EXAMPLES = """\
examples:
  physplan show plan.json
  physplan show plan.json -o plan.png
  physplan show plan.json -o plan.svg -o plan.html
  physplan show runs/ice                          the plan of a run, its sketch and its verdict
  physplan show runs/ice --sketch sketch.mp4      the plan in motion, as a film or (.png) a strip
  physplan show video.mp4                         how a video was made, from its own metadata
  physplan show video.mp4 --again runs/again      make that run again

The picture has a row for each object and a column for each event: what changes is marked, the rest is grey.
"""
_SUFFIXES = (".svg", ".png", ".html")


def add_parser(subparsers: Any) -> None:
    about = "show a plan as a table and as a picture, or how a video was made"
    parser = add_command(subparsers, "show", run, about, __doc__, _EXAMPLES)
    parser.add_argument(
        "plan", metavar="PLAN_RUN_OR_VIDEO", help="a plan.json, the folder of a run, or a video"
    )
    parser.add_argument(
        "-o", "--output", action="append", default=[], metavar="FILE", help="a picture: .svg, .png or .html"
    )
    parser.add_argument(
        "--sketch",
        action="append",
        default=[],
        metavar="FILE",
        help="a run's plan in motion: .mp4, .mkv or .png",
    )
    again = parser.add_argument_group("a video's run, made again")
    again.add_argument("--again", metavar="DIR", help="make the run again, in this folder")
    again.add_argument(
        "--image", metavar="FILE", help="its picture, where it is too large to be in the video"
    )
    again.add_argument("--keyframes", metavar="DIR", help="its keyframes, where they were given by hand")
    add_set(again, "a field that is otherwise here")
    again.add_argument("--budget", type=float, metavar="USD", help="make no call that could exceed this")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from physplan.drawing.table import plan_table
    from physplan.errors import PhysPlanError
    from physplan.foreign import plain
    from physplan.pipeline.sketches import check_sketch_name
    from physplan.runs import layout
    from physplan.video.untrusted_video import is_video

    _check_pictures(args.output)
    sketches = [check_sketch_name(Path(name)) for name in args.sketch]
    given = Path(args.plan)
    film = given.is_file() and is_video(given)
    if args.again and not film:
        raise PhysPlanError(f"{given} is no video: --again makes the run of a video again.")
    folder = given if given.is_dir() else given.parent if given.name == layout.PLAN else None
    if given.is_dir() and not (given / layout.PLAN).exists():
        raise PhysPlanError(
            f"{given} holds no plan: give the folder of a run that has planned, or a plan.json."
        )
    if sketches and (folder is None or not (folder / layout.EVIDENCE).exists()):
        raise PhysPlanError(
            f"{given} has no keyframes to make a sketch of: give the folder of a run that has drawn them, or "
            "plan with --sketch."
        )
    console = Console()
    chain = _chain(given, film)
    if chain is not None:
        console.print(plan_table(chain))
    if given.is_dir():
        _show_run(given)
    if chain is None and args.output:
        raise PhysPlanError(f"{given} was made without a plan: there is nothing to draw.")
    for path in sketches:
        _write_sketch(chain, folder, path)
        console.print(f"Sketch: {plain(path)}", markup=False, highlight=False, soft_wrap=True)
    for output in args.output:
        try:
            _write(chain, Path(output))
        except OSError as error:
            raise PhysPlanError(f"{output}: cannot be written: {error.strerror or error}") from error
        console.print(f"Picture: {plain(output)}", markup=False, highlight=False, soft_wrap=True)
    if args.again:
        from physplan.cli.origin import make_again

        return make_again(given, args)
    return 0


def _check_pictures(outputs: list[str]) -> None:
    from physplan.errors import PhysPlanError

    for output in outputs:
        if Path(output).suffix.lower() not in _SUFFIXES:
            raise PhysPlanError(f"{output}: name a picture that ends in {', '.join(_SUFFIXES)}")


def _chain(given: Path, film: bool) -> EventChain | None:
    from physplan.cli.origin import show_origin
    from physplan.graph import EventChain
    from physplan.runs import layout

    if film:
        return show_origin(given)
    return layout.load_plan(given) if given.is_dir() else EventChain.load(given)


def _show_run(folder: Path) -> None:
    from physplan.cli.generate import show_attempts, show_verdict
    from physplan.foreign import plain
    from physplan.runs import RunFolder, layout
    from physplan.runs.verdicts import verdict_of

    for name, what in ((layout.SKETCH, "The plan in motion"), (layout.VIDEO, "The video")):
        if (folder / name).exists():
            print(f"{what} is {plain(folder / name)}")
    if (folder / layout.VIDEO).exists():
        show_attempts(layout.load_attempts(folder))
        show_verdict(verdict_of(RunFolder(folder)))


def _write_sketch(chain: EventChain | None, folder: Path | None, path: Path) -> None:
    from physplan.pipeline.sketches import save_sketch
    from physplan.runs import layout
    from physplan.sketch import make_sketch

    assert chain is not None  # as is the folder: asked for before
    assert folder is not None
    sketch = make_sketch(chain, layout.load_evidence(folder))
    frame, keyframes = layout.load_picture(folder, layout.FRAME), layout.load_keyframes(folder)
    fps = layout.load_run(folder).identity.get("video.fps")
    save_sketch(path, sketch, chain, frame, keyframes, fps=fps if isinstance(fps, int) and fps > 0 else 8)


def _write(chain: EventChain | None, path: Path) -> None:
    from physplan.drawing.html import to_html
    from physplan.drawing.plan import draw_plan
    from physplan.drawing.png import save_png
    from physplan.drawing.svg import to_svg
    from physplan.files import write_atomic

    assert chain is not None  # asked for before
    suffix = path.suffix.lower()
    if suffix == ".png":
        save_png(draw_plan(chain), path)
    else:
        write_atomic(path, to_html(chain) if suffix == ".html" else to_svg(draw_plan(chain)))
