"""What the command line gives of a photograph: its frame's size, and objects in the frame's pixels."""

from __future__ import annotations

import argparse
from typing import Any

from PIL import Image

from physplan.errors import PhysPlanError
from physplan_photo.grammar.clauses import Noun, is_ground, nouns
from physplan_photo.objects import Asked, Box, check_inside, parse_objects

SIZE_STEP = 16
DEFAULT_WIDTH = 704
LEAST, MOST = 256, 4096


def frame_size(picture: tuple[int, int], width: int) -> tuple[int, int]:
    """The frame in the photograph's shape, multiples of 16; `width` is its longer side's for a portrait."""
    if not LEAST <= width <= MOST:
        raise PhysPlanError(f"--width {width} is out of range: give {LEAST} to {MOST} pixels.")
    across, down = picture
    size = (width, width * down / across) if across >= down else (width * across / down, width)
    if min(size) < 64:
        raise PhysPlanError(
            f"A photograph of {across} x {down} pixels is too long and narrow: crop it first."
        )
    return max(SIZE_STEP, SIZE_STEP * round(size[0] / SIZE_STEP)), max(
        SIZE_STEP, SIZE_STEP * round(size[1] / SIZE_STEP)
    )


def object_options(
    args: argparse.Namespace, picture: Image.Image, size: tuple[int, int], *, by_verbs: bool
) -> dict[str, Any]:
    """The segmenter's options: typed objects in the frame's pixels, else the main object of the grammar's."""
    asked = parse_objects(args.object)
    for one in asked:
        check_inside(one, picture.size)
    typed = [_in_frame(one, picture.size, size) for one in asked]
    options: dict[str, Any] = {"objects": typed} if typed else {}
    if args.masks is not None:
        options["masks"] = _fitted_masks(args.masks, picture.size, size)
    if not options and args.prompt is not None and by_verbs and not args.dry_run:
        main = _main_object(args.prompt, picture, size)
        if main is not None:
            options["objects"] = [main]
    return options


def _fitted_masks(folder: str, picture: tuple[int, int], size: tuple[int, int]) -> str:
    """Masks are given in the photograph's size; the segmenter looks at frames."""
    if picture == size:
        return folder
    raise PhysPlanError(
        f"The masks are for {picture[0]} x {picture[1]} pixels, the frame has {size[0]} x {size[1]}: scale "
        "photograph and masks to the frame's size first."
    )


def _in_frame(asked: Asked, picture: tuple[int, int], size: tuple[int, int]) -> str:
    """A typed object in the pixels of the frame, which is the scaled photograph cropped about its middle."""
    scale = max(size[0] / picture[0], size[1] / picture[1])
    left, top = ((picture[k] * scale - size[k]) / 2 for k in (0, 1))

    def x(value: float) -> float:
        return round(min(max(value * scale - left, 0.0), size[0] - 1.0), 1)

    def y(value: float) -> float:
        return round(min(max(value * scale - top, 0.0), size[1] - 1.0), 1)

    if asked.box is not None:
        box = Box(x(asked.box.left), y(asked.box.top), x(asked.box.right), y(asked.box.bottom))
        return f"{asked.name}:{box.left},{box.top},{box.right},{box.bottom}"
    clicks = "".join(f"{'@' if p.inside else '!'}{x(p.x)},{y(p.y)}" for p in asked.points)
    return f"{asked.name}{clicks}"


def _main_object(prompt: str, picture: Image.Image, size: tuple[int, int]) -> str | None:
    """The one thing of the sentence that the detector has no name for is what stands out, as a box.

    What it has a name for and does not find is not there: nothing else moves in its place.
    """
    from physplan.video.fit import fit_picture
    from physplan_photo.cutting import cut_out, main_object
    from physplan_photo.detector import FILE as DETECTOR
    from physplan_photo.weights import have
    from physplan_photo.words import classes_of

    names = [name for name in nouns(prompt) if not is_ground(Noun(name))]
    frame, _ = fit_picture(picture, width=size[0], height=size[1])
    lost = []
    for name in names:
        try:
            cut_out(frame, [Asked(name)])
        except PhysPlanError as error:
            lost.append((name, error))
    if not lost:
        return None
    if len(names) > 1 or (classes_of(lost[0][0]) and have(DETECTOR) is not None):
        raise lost[0][1]
    box = main_object(frame, lost[0][0]).box
    return f"{lost[0][0]}:{box.left},{box.top},{box.right},{box.bottom}"
