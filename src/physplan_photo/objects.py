"""The objects of a photograph: what was asked for (a name with a box or clicks) and what was cut out.

Coordinates are pixels of the upright photograph, x to the right and y down, as image editors show them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from physplan.errors import PhysPlanError
from physplan.pictures import open_picture

Mask = NDArray[np.bool_]  # [H, W]
_HELP = 'write "car:120,80,420,300" (a box), "cup@233,190" (a click) or "dog" (found by its name)'
_NUMBER = r"\s*(-?\d+(?:\.\d+)?)\s*"
_POINT = re.compile(rf"([@!]){_NUMBER},{_NUMBER}")
_BOX = re.compile(rf"{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}")


@dataclass(frozen=True, slots=True)
class Point:
    """A click: on the object, or (`inside` False) beside it."""

    x: float
    y: float
    inside: bool = True


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        return max(0.0, self.right - self.left) * max(0.0, self.bottom - self.top)

    @property
    def centre(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def tuple(self) -> tuple[float, float, float, float]:
        return self.left, self.top, self.right, self.bottom


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """An object of the sentence: a name, and a box, clicks, a mask or nothing (then it is found by name)."""

    name: str
    box: Box | None = None
    points: tuple[Point, ...] = ()
    mask: Mask | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Found:
    """An object that the detector saw: `name` as it was asked for, `kind` its COCO class."""

    name: str
    box: Box
    score: float
    kind: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """An object with its mask; `how` is box, click, mask, name or main."""

    name: str
    mask: Mask = field(repr=False)
    score: float
    how: str

    @property
    def box(self) -> Box:
        return box_of(self.mask)


def box_of(mask: Mask) -> Box:
    """The smallest box around a mask that is not empty."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return Box(float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1))


def parse_object(text: str) -> Asked:
    """`name:left,top,right,bottom`, `name@x,y` (more clicks: `@x,y` on it, `!x,y` beside it), or `name`."""
    cut = re.search(r"[:@!]", text)
    name = " ".join((text[: cut.start()] if cut else text).split())
    rest = text[cut.start() :].strip() if cut else ""
    if not re.fullmatch(r"\w[\w' -]*", name):
        raise PhysPlanError(f"The object {text!r} has no name of letters: {_HELP}.")
    if not rest:
        return Asked(name)
    if rest.startswith(":"):
        if not (numbers := _BOX.fullmatch(rest[1:])):
            raise PhysPlanError(f"The box of {text!r} is not four numbers: {_HELP}.")
        box = Box(*(float(value) for value in numbers.groups()))
        if box.left >= box.right or box.top >= box.bottom:
            raise PhysPlanError(
                f"The box of {text!r} is empty: give left, top, right and bottom, the corners in pixels."
            )
        return Asked(name, box=box)
    points = tuple(Point(float(x), float(y), sign == "@") for sign, x, y in _POINT.findall(rest))
    if _POINT.sub("", rest).strip() or not any(point.inside for point in points):
        raise PhysPlanError(f"The click of {text!r} is not two numbers: {_HELP}.")
    return Asked(name, points=points)


def parse_objects(texts: Sequence[str]) -> list[Asked]:
    """One object each; a name that comes twice is refused."""
    asked = [parse_object(text) for text in texts]
    names = [one.name.lower() for one in asked]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise PhysPlanError(
            f"Two objects are called {twice!r}: give each a name of its own, as `left {twice}`."
        )
    return asked


def check_inside(asked: Asked, size: tuple[int, int]) -> None:
    """Refuse a click or a box beside the picture; `size` is width and height."""
    width, height = size
    frame = f"the picture has {width} x {height} pixels"
    for point in asked.points:
        if not (0 <= point.x < width and 0 <= point.y < height):
            raise PhysPlanError(
                f"The click of {asked.name!r} at {point.x:g},{point.y:g} is beside it: {frame}."
            )
    if (box := asked.box) and (box.right <= 0 or box.bottom <= 0 or box.left >= width or box.top >= height):
        raise PhysPlanError(f"The box of {asked.name!r} is beside the picture: {frame}.")


def read_masks(folder: str | Path, size: tuple[int, int]) -> list[Asked]:
    """Masks of one's own: `car.png` is the object car where it is light; `size` is width, height."""
    found = []
    for path in _mask_paths(folder):
        picture = open_picture(path)
        if picture.size != size:
            told = f"{picture.width} x {picture.height} pixels, the photograph {size[0]} x {size[1]}"
            raise PhysPlanError(f"The mask {path} has {told}: give masks of the photograph's size.")
        mask = np.asarray(picture.convert("L")) > 127
        if not mask.any():
            raise PhysPlanError(f"The mask {path} is empty: paint the object white.")
        found.append(Asked(_mask_name(path), mask=mask))
    return found


def mask_names(folder: str | Path) -> list[str]:
    """The objects that a folder of masks names."""
    return [_mask_name(path) for path in _mask_paths(folder)]


def _mask_name(path: Path) -> str:
    return path.stem.replace("_", " ")


def _mask_paths(folder: str | Path) -> list[Path]:
    place = Path(folder).expanduser()
    paths = [path for path in place.iterdir() if path.suffix.lower() == ".png"] if place.is_dir() else []
    if not paths:
        raise PhysPlanError(f"There is no mask in {folder}: put a PNG per object there, such as car.png.")
    return sorted(paths)
