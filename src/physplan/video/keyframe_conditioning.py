"""Pictures that a video must show at given frames, and where a model can take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PIL.Image import Image
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, kw_only=True, eq=False)
class GivenFrame:
    frame: int  # from 1 on: frame 0 is the picture that every run is given
    image: Image
    where: Tensor | None = None  # bool [H, W], of any size: what of it is given; None: all
    strength: float = 1.0  # below 1 it is a hint, which the video may leave
    until: float = 1.0  # share of the steps that see it


def touched(where: Tensor, size: tuple[int, int]) -> Tensor:
    """The cells of a grid (rows, columns) that a mask [H, W] touches: bool [h, w]."""
    return F.adaptive_max_pool2d(where[None].float(), size)[0] > 0


def settle(
    wanted: Sequence[GivenFrame], places: Sequence[int]
) -> tuple[tuple[GivenFrame, ...], tuple[str, ...]]:
    """Each picture at the nearest of the places a model takes one, and what was moved or left out, in words.

    Where several want one place, the nearest has it, of equally near ones the last.
    """
    at: dict[int, GivenFrame] = {}
    for given in sorted(wanted, key=lambda one: one.frame):
        place = min(places, key=lambda frame: (abs(frame - given.frame), frame))
        held = at.get(place)
        if held is None or abs(held.frame - place) >= abs(given.frame - place):
            at[place] = given
    taken = {id(given): place for place, given in at.items()}
    notes = []
    for given in wanted:
        if id(given) not in taken:
            notes.append(f"the keyframe of frame {given.frame} is left out: this model has no place for it")
        elif (place := taken[id(given)]) != given.frame:
            notes.append(
                f"the keyframe of frame {given.frame} is given at frame {place}, the nearest it takes"
            )
    settled = tuple(replace(at[place], frame=place) for place in sorted(at))
    return settled, tuple(notes)
