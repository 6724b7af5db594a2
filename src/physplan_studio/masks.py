"""The masks of clicks on a photograph. A worker of its own does this, so that a click waits for no run.

A photograph is fitted to the video's frame and encoded once; each click after that gives a mask [H, W].
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image

from physplan.pictures import open_picture

_frames: dict[str, Image.Image] = {}  # by the picture's path: the last one


def warm(given: Mapping[str, Any]) -> dict[str, Any]:
    """Load MobileSAM."""
    import torch

    from physplan_photo.mobile_sam.model import mobile_sam

    torch.set_num_threads(1)
    mobile_sam()
    return {}


def look(given: Mapping[str, Any]) -> dict[str, Any]:
    """The frame of the picture at `image`, written to `target`, and its embedding, kept."""
    import torch

    from physplan_photo.cutting import check_picture
    from physplan_photo.detector import FILE, detect
    from physplan_photo.mobile_sam.model import mobile_sam
    from physplan_photo.weights import have

    frame = _frame(given)
    check_picture(frame)
    frame.save(given["target"], "PNG", compress_level=1)
    before = time.perf_counter()
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    mobile_sam().encode(frame)
    if have(FILE) is not None:
        detect(frame)  # kept, so that a click on a named thing takes the whole of it
    torch.set_num_threads(1)  # a click is short: two threads would wait for each other
    return {"seconds": round(time.perf_counter() - before, 3)}


def click(given: Mapping[str, Any]) -> dict[str, Any]:
    """The mask of one typed object (`cup@233,190`), white on black, written to `target`."""
    from physplan_photo.cutting import cut_out
    from physplan_photo.mobile_sam.model import mobile_sam
    from physplan_photo.objects import parse_objects

    frame = _frame(given)
    mobile_sam().encode(frame)
    before = time.perf_counter()
    (cut,) = cut_out(frame, parse_objects([given["object"]]))
    Image.fromarray(cut.mask).save(given["target"], "PNG", compress_level=1)
    left, top, right, bottom = cut.box.tuple()
    return {
        "seconds": round(time.perf_counter() - before, 3),
        "score": round(cut.score, 3),
        "box": [left / frame.width, top / frame.height, right / frame.width, bottom / frame.height],
    }


def by_hand(given: Mapping[str, Any]) -> dict[str, Any]:
    """A plan of the given objects with one event, in which `first` moves a little to the right."""
    from physplan.pictures import to_tensor
    from physplan_photo.segmenter import PhotoSegmenter
    from physplan_studio.by_hand import first_plan

    frame = _frame(given)
    segmenter = PhotoSegmenter(given["objects"], given.get("masks"))
    found = segmenter.segment(to_tensor(frame), segmenter.given)
    masks = [(one.category, np.asarray(one.mask.cpu().numpy(), dtype=bool)) for one in found]
    return {"plan": first_plan(masks, given["first"], given["prompt"]).to_json()}


def _frame(given: Mapping[str, Any]) -> Image.Image:
    from physplan.video.fit import fit_picture
    from physplan_photo.cli.given import DEFAULT_WIDTH, frame_size

    if given["image"] not in _frames:
        picture = open_picture(given["image"])
        width, height = frame_size(picture.size, DEFAULT_WIDTH)
        _frames.clear()
        _frames[given["image"]] = fit_picture(picture, width=width, height=height)[0]
    return _frames[given["image"]]
