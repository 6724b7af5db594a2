"""The dish that a thing stands on: clicks around its foot, and what most of them agree on."""

from __future__ import annotations

import numpy as np
from PIL import Image
from scipy import ndimage

from physplan_photo.mobile_sam.model import SIDE, Encoded, full_size, mobile_sam, tidy
from physplan_photo.objects import Mask, Point, box_of
from physplan_photo.words import classes_of

DISHES = {
    **dict.fromkeys(("cup",), "saucer"),
    **dict.fromkeys(("bowl", "cake", "donut", "pizza", "sandwich"), "plate"),
}  # by the detector's class
CLICK_COUNT = 12  # in the lower half around a thing
CLICK_DISTANCE = 0.14  # of its width
GUESS_SIDE = 256  # of a guess's logits, over the padded square
SAME_IOU = 0.85
MIN_VOTES = 0.5  # of the clicks
MAX_AREA = 0.4  # of the picture: a larger one is a table
MAX_OVERLAP = 0.1  # of the thing: what contains it is a thing with its dish
_latest: list[tuple[Encoded, bytes, tuple[Mask, float] | None]] = []  # the thing that was looked under last


def dish_of(name: str) -> str | None:
    """What a dish below `name` is called, as "cup's saucer"; None for what stands on no dish."""
    found = next((DISHES[kind] for kind in classes_of(name) if kind in DISHES), None)
    return None if found is None else f"{name}'s {found}"


def owner_of(name: str) -> str | None:
    """The thing whose dish a name is: cup of "cup's saucer"."""
    owner, apart, dish = name.rpartition("'s ")
    return owner if apart and dish in DISHES.values() else None


def dish_under(picture: Image.Image, mask: Mask) -> tuple[Mask, float] | None:
    """The dish [H, W] below what `mask` covers, and its score; None where no half of the clicks agree."""
    encoded, covered = mobile_sam().encode(picture), mask.tobytes()
    if not (_latest and _latest[0][0] is encoded and _latest[0][1] == covered):
        _latest[:] = [(encoded, covered, _found(encoded, mask))]
    return _latest[0][2]


def _found(encoded: Encoded, mask: Mask) -> tuple[Mask, float] | None:
    """Guesses are compared as small as they come."""
    sam = mobile_sam()
    width, height = (round(side * GUESS_SIDE / SIDE) for side in encoded.fitted)
    thing = np.asarray(Image.fromarray(mask).resize((width, height), Image.Resampling.NEAREST), dtype=bool)
    clicks = _around(mask)
    guesses = [guess for x, y in clicks for guess in sam.guesses(encoded, points=(Point(x, y),))]
    seen = [(guess, (guess.logits[:height, :width] > 0).numpy()) for guess in guesses]
    found = [(guess, one) for guess, one in seen if _is_dish(one, thing)]
    votes = [sum(_iou(one, other) > SAME_IOU for _, other in found) for _, one in found]
    if not votes or max(votes) < max(2.0, MIN_VOTES * len(clicks)):
        return None
    best, _ = found[int(np.argmax(votes))]
    return tidy((full_size(best.logits, encoded) > 0).numpy()) & ~mask, best.score


def _around(mask: Mask) -> list[tuple[int, int]]:
    """Places on an ellipse around the lower half of a mask that are in the picture and beside the mask."""
    box = box_of(mask)
    (x, y), away = box.centre, CLICK_DISTANCE * (box.right - box.left)
    angles = np.linspace(0, np.pi, CLICK_COUNT)
    columns = x + ((box.right - box.left) / 2 + away) * np.cos(angles)
    rows = y + ((box.bottom - box.top) / 2 + away) * np.sin(angles)
    places = zip(columns.round().astype(int).tolist(), rows.round().astype(int).tolist(), strict=True)
    height, width = mask.shape
    return [(x, y) for x, y in places if 0 <= x < width and 0 <= y < height and not mask[y, x]]


def _is_dish(one: Mask, thing: Mask) -> bool:
    """Whether it reaches below and to both sides of the thing's foot, within the frame."""
    if not one.any() or one.mean() > MAX_AREA or one.sum() < 0.3 * thing.sum():
        return False
    if any(border.mean() > 0.1 for border in (one[0], one[:, 0], one[:, -1])):
        return False
    box, foot = box_of(one), box_of(thing)
    around = box.left < foot.centre[0] < box.right and box.bottom > foot.bottom and box.top < foot.bottom
    wide = box.right - box.left > 0.8 * (foot.right - foot.left)
    touches = (ndimage.binary_dilation(thing, iterations=2) & one).any()
    return bool(around and wide and touches and (one & thing).sum() < MAX_OVERLAP * thing.sum())


def _iou(one: Mask, other: Mask) -> float:
    return float((one & other).sum() / (one | other).sum())
