"""Whether a plan was made for a picture."""

from __future__ import annotations

from typing import get_args

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.reasoning.picture import Picture
from physplan.video.fit import FitMode, fit_picture

MAX_SIDE = 4096  # pixels a side: the size comes from a file


def require_picture(chain: EventChain, *pictures: Picture) -> None:
    """Refuse a plan of another picture.

    A plan names the pixels it was made for: the picture's, or those of the picture at a video model's size,
    which need not be this run's.
    """
    image = chain.provenance.get("image")
    made_for = image.get("sha256") if isinstance(image, dict) else None
    if made_for is None or made_for in {picture.sha256 for picture in pictures}:
        return
    size = image.get("size") if isinstance(image, dict) else None
    if isinstance(size, list) and len(size) == 2 and all(type(n) is int and 0 < n <= MAX_SIDE for n in size):
        for mode in get_args(FitMode):
            frame, _ = fit_picture(pictures[0].image, width=size[0], height=size[1], mode=mode)
            if Picture.of(frame).sha256 == made_for:
                return
    raise PhysPlanError(
        "The plan was made for another picture: give the picture it was made for, or plan this one."
    )
