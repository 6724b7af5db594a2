"""Whether a picture can be a scene of the sandbox at all; asked before anything is loaded.

Every scene has a wall above a table: flat surfaces, the same colours at the left and the right edge, one
horizontal step between the two. Of some 900 scenes and of the photographs at hand the four measures
below had these ranges:

| measure | scenes | photographs |
|---|---|---|
| neighbours in a row of one colour | 0.73 to 0.96 | 0.24 to 0.80 |
| pixels of their row's colour | 0.54 to 0.92 | 0.10 to 0.87 |
| left edge against right edge | 0.00 to 0.10 | 0.01 to 0.68 |
| largest step between rows | 0.19 to 0.60 | 0.01 to 0.57 |
"""

from __future__ import annotations

import numpy as np
from PIL import Image

from physplan.errors import PhysPlanError

PICTURE_SIDE = 96
FLAT, ROW, EDGES, STEP = 0.68, 0.51, 0.14, 0.14  # limits of the four measures
MAX_FLATNESS = 0.97  # flatter than any scene and than any photograph: not for this check to judge


class IsAPhotograph(PhysPlanError):
    """A picture that the sandbox cannot know."""

    def hint(self) -> str:
        return "Your own: physplan photo PICTURE --prompt TEXT\nA drawn scene: physplan sample --list"


def check_picture(image: Image.Image) -> None:
    """Refuse a picture that is no drawn scene."""
    if not can_be_a_scene(image):
        raise IsAPhotograph(
            "This is a photograph; the preset sandbox knows drawn scenes only: try `physplan photo`."
        )


def can_be_a_scene(image: Image.Image) -> bool:
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    square = image.convert("RGB").resize(
        (PICTURE_SIDE, PICTURE_SIDE), Image.Resampling.BOX, box=(left, top, left + side, top + side)
    )
    pixels = np.asarray(square, dtype=np.float32) / 255
    rows = np.median(pixels, axis=1)  # [96, 3]
    flat = float((np.abs(np.diff(pixels, axis=1)).max(-1) < 0.02).mean())
    row = float((np.abs(pixels - rows[:, None]).max(-1) < 0.06).mean())
    sides = np.median(pixels[:, :4], axis=1) - np.median(pixels[:, -4:], axis=1)
    edges = float(np.median(np.abs(sides).max(-1)))
    step = float(np.abs(rows[2:] - rows[:-2]).max(-1)[PICTURE_SIDE // 3 : -PICTURE_SIDE // 6].max())
    if flat > MAX_FLATNESS:
        return True
    return flat >= FLAT and row >= ROW and edges <= EDGES and step >= STEP
