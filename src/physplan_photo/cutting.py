"""From prompts to masks: boxes and clicks by MobileSAM, names by the detector, else the main object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from physplan.errors import PhysPlanError
from physplan_photo.detector import DETECTING, DetectorConfig, detect, find_objects
from physplan_photo.detector import FILE as DETECTOR
from physplan_photo.mobile_sam.model import mobile_sam, tidy
from physplan_photo.objects import Asked, Box, Cut, Mask, check_inside
from physplan_photo.salient import main_mask
from physplan_photo.weights import have
from physplan_photo.words import classes_of

MAIN = "object"  # the name of the main object where none is given


@dataclass(frozen=True, kw_only=True)
class CuttingConfig:
    """`most` and `least` bound a mask's part of the picture; above `same` IoU two objects are one."""

    detector: DetectorConfig = DETECTING
    most: float = 0.85
    least: float = 1e-4
    same: float = 0.8


CUTTING = CuttingConfig()


def check_picture(picture: Image.Image) -> None:
    """Refuse a picture of one colour, where nothing can be found."""
    if all(high - low < 8 for low, high in _extremes(picture)):
        raise PhysPlanError("The picture has one colour throughout: give a photograph that shows something.")


def _extremes(picture: Image.Image) -> list[tuple[int, int]]:
    pixels = np.asarray(picture.convert("RGB").resize((64, 64), Image.Resampling.BOX))
    return [(int(pixels[..., c].min()), int(pixels[..., c].max())) for c in range(3)]


def cut_out(picture: Image.Image, asked: Sequence[Asked] = (), config: CuttingConfig = CUTTING) -> list[Cut]:
    """A mask per object, in the order asked; no two share a pixel. With nothing asked: the main object."""
    check_picture(picture)
    for one in asked:
        check_inside(one, picture.size)
    if not asked:
        return [main_object(picture)]
    boxes = _named(picture, [one for one in asked if _bare(one)], config)
    cuts = [
        _cut(picture, replace(one, box=boxes[one.name]) if _bare(one) else one, one, config) for one in asked
    ]
    return apart(cuts, config)


def _bare(asked: Asked) -> bool:
    return asked.box is None and not asked.points and asked.mask is None


def _named(picture: Image.Image, asked: Sequence[Asked], config: CuttingConfig) -> dict[str, Box]:
    """Boxes of objects that only have a name; one that cannot be found is an error."""
    if not asked:
        return {}
    names = [one.name for one in asked]
    if have(DETECTOR) is None:
        raise PhysPlanError(
            f"Nothing finds {_list(names)} by name here, because {DETECTOR} is missing: "
            f"{_show(names[0])}, or run `physplan models get photo`."
        )
    found = {one.name: one.box for one in find_objects(picture, names, config.detector)}
    lost = [name for name in names if name not in found]
    if strange := [name for name in lost if not classes_of(name)]:
        raise PhysPlanError(
            f"The detector does not know {_list(strange)}, only everyday things such as a cup or a dog:"
            f" {_show(strange[0])}."
        )
    if lost:
        raise PhysPlanError(f"No {_list(lost)} was found in the picture: {_show(lost[0])}.")
    return found


def _list(names: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _show(name: str) -> str:
    return f'click on it (--object "{name}@x,y") or give its box (--object "{name}:left,top,right,bottom")'


def _cut(picture: Image.Image, asked: Asked, original: Asked, config: CuttingConfig) -> Cut:
    how = "name" if _bare(original) else "mask" if asked.mask is not None else "box" if asked.box else "click"
    if asked.mask is not None:
        return Cut(asked.name, asked.mask, 1.0, how)
    mask, score = _clicked_whole(picture, asked, config) if how == "click" else (None, 0.0)
    if mask is None:
        mask, score = mobile_sam().mask(picture, box=asked.box, points=asked.points)
    mask = tidy(mask if asked.box is None else within(mask, asked.box))
    part = float(mask.mean())
    if part < config.least:
        raise PhysPlanError(f"Nothing stands out for {asked.name!r} there: {_show(asked.name)}.")
    # Several clicks correct each other: what they agree on is meant.
    if how == "click" and len(asked.points) == 1 and (part > config.most or _is_backdrop(mask)):
        raise PhysPlanError(
            f"The click of {asked.name!r} takes {part:.0%} of the picture, which looks like background: click"
            f' on the object itself, or give its box (--object "{asked.name}:left,top,right,bottom").'
        )
    return Cut(asked.name, mask, score, how)


def _clicked_whole(picture: Image.Image, asked: Asked, config: CuttingConfig) -> tuple[Mask | None, float]:
    """The whole of a thing that the detector knows by name around a single click: the cup, not its coffee."""
    (x, y), one = (asked.points[0].x, asked.points[0].y), len(asked.points) == 1
    if not (one and classes_of(asked.name)) or have(DETECTOR) is None:
        return None, 0.0
    around = [
        found.box for found in detect(picture, config.detector)
        if found.kind in classes_of(asked.name) and _holds(found.box, x, y)
    ]  # fmt: skip
    if not around:
        return None, 0.0
    box = min(around, key=lambda box: box.area)
    mask, score = mobile_sam().mask(picture, box=box, points=asked.points)
    return (within(mask, box), score) if mask[int(y), int(x)] else (None, 0.0)


def _holds(box: Box, x: float, y: float) -> bool:
    return box.left <= x <= box.right and box.top <= y <= box.bottom


def within(mask: Mask, box: Box, slack: float = 0.06) -> Mask:
    """The part of a mask in its box, grown by `slack` of its sides: a box says where the object ends."""
    kept = np.zeros_like(mask)
    x, y = slack * (box.right - box.left), slack * (box.bottom - box.top)
    inside = np.s_[
        max(0, round(box.top - y)) : round(box.bottom + y), max(0, round(box.left - x)) : round(box.right + x)
    ]
    kept[inside] = mask[inside]
    return kept


def _is_backdrop(mask: Mask) -> bool:
    """A sky or a wall: a third of the picture or more, along a quarter of the upper and both side borders or
    most of three borders; a large animal leaves a side free."""
    top, bottom, left, right = (
        float(border.mean()) for border in (mask[0], mask[-1], mask[:, 0], mask[:, -1])
    )
    behind = min(top, left, right) > 0.25 or sum(part > 0.5 for part in (top, bottom, left, right)) >= 3
    return bool(mask.mean() > 0.3 and behind) or bool(top > 0.9 and mask.mean() > 0.2)


def main_object(picture: Image.Image, name: str = MAIN) -> Cut:
    """What stands out most; MobileSAM sharpens U2-Net's coarse outline where both see the same."""
    coarse = main_mask(picture)
    if coarse.mean() < 1e-3:
        raise PhysPlanError(f"No main object stands out in the picture: {_show('cup')}.")
    rough = Cut(name, coarse, 0.5, "main")
    fine, score = mobile_sam().mask(picture, box=rough.box)
    return Cut(name, tidy(fine), score, "main") if iou(fine, coarse) > 0.8 else rough


def iou(one: Mask, other: Mask) -> float:
    """Intersection over union of two masks."""
    both = np.logical_or(one, other).sum()
    return float(np.logical_and(one, other).sum() / both) if both else 0.0


def apart(cuts: Sequence[Cut], config: CuttingConfig = CUTTING) -> list[Cut]:
    """Shared pixels belong to the smaller object: a spoon in a cup is the spoon's."""
    by_area = sorted(cuts, key=lambda cut: int(cut.mask.sum()))
    done: dict[str, Cut] = {}
    for cut in by_area:
        mask = cut.mask.copy()
        for other in done.values():
            if iou(cut.mask, other.mask) > config.same:
                raise PhysPlanError(
                    f"{other.name!r} and {cut.name!r} are the same part of the picture: {_show(cut.name)}."
                )
            mask &= ~other.mask
        done[cut.name] = replace(cut, mask=mask)
    return [done[cut.name] for cut in cuts]


def enclosed(cuts: Sequence[Cut]) -> list[Cut]:
    """What two touching objects enclose belongs to the larger one: a spoon between a cup and its saucer."""
    from scipy import ndimage

    cuts = sorted(cuts, key=lambda cut: -int(cut.mask.sum()))
    taken: np.ndarray = np.any([cut.mask for cut in cuts], axis=0) if cuts else np.zeros(0, bool)
    for i, large in enumerate(cuts):
        for small in cuts[i + 1 :]:
            both = large.mask | small.mask
            reach = max(2, len(both) // 60)
            closed = ndimage.binary_closing(np.pad(both, reach), iterations=reach)[reach:-reach, reach:-reach]
            near = closed | both
            holes, _ = ndimage.label(ndimage.binary_fill_holes(near) & ~taken)
            inner, outer = (holes[ndimage.binary_dilation(one.mask, iterations=2)] for one in (small, large))
            hole = np.isin(holes, np.setdiff1d(np.intersect1d(inner, outer), [0]))
            cuts[i] = large = replace(large, mask=large.mask | hole)
            taken = taken | hole
    return list(cuts)
