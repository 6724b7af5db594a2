"""What a video says of itself, in words, and its run made again: parts of `physplan show`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from physplan.foreign import plain

if TYPE_CHECKING:
    from physplan.graph import EventChain
    from physplan.origin import Origin


def show_origin(video: Path) -> EventChain | None:
    """Print it; the plan, where the video holds one."""
    from physplan.origin import read_origin

    origin = read_origin(video)
    chain = origin.chain()
    for name, text in _rows(origin, video):
        print(f"{name:10} {plain(text)}")
    return chain


def _rows(origin: Origin, video: Path) -> list[tuple[str, str]]:
    from physplan.origin.record import digital_source_type

    picture = "in the file" if origin.picture is not None else "not in the file: --again needs --image"
    return [
        ("prompt", origin.prompt),
        ("method", f"{origin.method}, seed {origin.seed}, preset {origin.preset}"),
        ("models", ", ".join(origin.models)),
        ("source", digital_source_type(video) or "not said"),
        ("versions", ", ".join(f"{name} {version}" for name, version in origin.versions.items())),
        *((f"{name}", f"sha256 {value}") for name, value in origin.hashes.items()),
        ("settings", f"{len(origin.settings)} that decide the result; the picture is {picture}"),
    ]


def make_again(video: Path, args: argparse.Namespace) -> int:
    from physplan.cli.generate import given_keyframes, show_made
    from physplan.cli.progress import Display
    from physplan.origin import read_origin
    from physplan.pipeline.config_loading import read_assignments
    from physplan.pipeline.origins import run_again
    from physplan.runs import layout

    origin, folder = read_origin(video), Path(args.again)
    changes = read_assignments(args.set)
    if args.budget is not None:
        changes["runtime.budget"] = args.budget
    with Display(folder, preview=True) as display:
        result = run_again(
            origin,
            output_dir=folder,
            image=args.image,
            keyframes=given_keyframes(args.keyframes),
            overrides=changes,
            on_event=display,
        )
    show_made(result, folder)
    print(_compared(origin, read_origin(folder / layout.VIDEO)))
    return 0


def _compared(before: Origin, now: Origin) -> str:
    if before.hashes.get("frames") == now.hashes.get("frames"):
        return "Its frames are equal to those of the video."
    others = [
        f"{name} was {plain(before.versions.get(name, 'not there'))} and is {version}"
        for name, version in now.versions.items()
        if before.versions.get(name) != version
    ]
    why = "; ".join(others) or "other settings, another kind of machine, or a server that answers otherwise"
    return f"Its frames differ from those of the video ({why})."
