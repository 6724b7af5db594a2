"""YOLOX-Nano: boxes of named things. A name that is no class, or is not seen, gives nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from physplan_photo.objects import Box, Found
from physplan_photo.sessions import session
from physplan_photo.words import CLASSES, classes_of, place_of

FILE, SIDE, STRIDES = "yolox_nano.onnx", 416, (8, 16, 32)
PADDING_GREY = 114  # what the authors pad with
Array = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class DetectorConfig:
    """`threshold` is the least score of a box, `overlap` the IoU above which two are one.

    `mirrored` looks at the picture's mirror image too.
    """

    threshold: float = 0.1
    overlap: float = 0.5
    mirrored: bool = True


DETECTING = DetectorConfig()
_latest: list[tuple[Image.Image, DetectorConfig, list[Found]]] = []  # the picture that was looked at last


def detect(picture: Image.Image, config: DetectorConfig = DETECTING) -> list[Found]:
    """Everything that is seen, the surest first; `name` is the class."""
    if not (_latest and _latest[0][0] is picture and _latest[0][1] == config):
        _latest[:] = [(picture, config, _detected(picture, config))]
    return _latest[0][2]


def _detected(picture: Image.Image, config: DetectorConfig) -> list[Found]:
    boxes, scores = _seen(picture)
    if config.mirrored:
        turned, more = _seen(picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT))
        turned[:, [0, 2]] = picture.width - turned[:, [2, 0]]
        boxes, scores = np.concatenate([boxes, turned]), np.concatenate([scores, more])
    found = [
        Found(CLASSES[kind], Box(*boxes[row].tolist()), float(scores[row, kind]), CLASSES[kind])
        for kind in range(len(CLASSES))
        for row in suppress(boxes, scores[:, kind], config)
    ]
    return sorted(found, key=lambda one: -one.score)


def _seen(picture: Image.Image) -> tuple[Array, Array]:
    """Boxes [N, 4] in pixels of the picture and scores [N, 80]."""
    ratio = SIDE / max(picture.size)
    size = max(1, int(picture.width * ratio)), max(1, int(picture.height * ratio))
    square = np.full((SIDE, SIDE, 3), PADDING_GREY, np.float32)
    small = picture.convert("RGB").resize(size, Image.Resampling.BILINEAR)
    square[: size[1], : size[0]] = np.asarray(small)[:, :, ::-1]  # BGR, as it was trained
    (raw,) = session(FILE).run(None, {"images": square.transpose(2, 0, 1)[None]})
    boxes, scores = decode(raw[0])
    limits = np.array([*picture.size, *picture.size], np.float32)
    return np.clip(boxes / ratio, 0, limits).astype(np.float32), scores


def decode(raw: Array) -> tuple[Array, Array]:
    """Boxes [N, 4] (left, top, right, bottom) in input pixels and scores [N, 80] of raw rows [N, 85]."""
    grids, strides = [], []
    for stride in STRIDES:
        count = SIDE // stride
        rows, columns = np.mgrid[:count, :count].reshape(2, -1)
        grids.append(np.stack([columns, rows], 1))
        strides.append(np.full((count * count, 1), stride))
    grid, stride_of = np.concatenate(grids), np.concatenate(strides)
    centres = (raw[:, :2] + grid) * stride_of
    halves = np.exp(raw[:, 2:4]) * stride_of / 2
    boxes = np.concatenate([centres - halves, centres + halves], 1).astype(np.float32)
    return boxes, raw[:, 4:5] * raw[:, 5:]


def suppress(boxes: Array, scores: Array, config: DetectorConfig) -> list[int]:
    """Rows of the boxes that stay of one class: the surest, without those that overlap a surer one."""
    order = [int(row) for row in np.argsort(-scores) if scores[row] >= config.threshold]
    kept: list[int] = []
    for row in order:
        if all(overlap(boxes[row], boxes[other]) <= config.overlap for other in kept):
            kept.append(row)
    return kept


def overlap(one: Array, other: Array) -> float:
    """Intersection over union of two boxes."""
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    shared = float(np.prod(np.clip(high - low, 0, None)))
    both = float(np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2])) - shared
    return shared / both if both > 0 else 0.0


def find_objects(
    picture: Image.Image, words: Sequence[str], config: DetectorConfig = DETECTING
) -> list[Found]:
    """One box per word that is seen: of several of a kind the one that "left", "largest" ... names, else the
    surest that no other word has taken."""
    seen = detect(picture, config)
    found: list[Found] = []
    for word in words:
        taken = {one.box for one in found}
        options = [one for one in seen if one.kind in classes_of(word) and one.box not in taken]
        if options:
            one = choose(options, place_of(word))
            found.append(Found(word, one.box, one.score, one.kind))
    return found


def choose(options: Sequence[Found], place: str) -> Found:
    """The one that `place` names among boxes of a kind."""
    by_side = sorted(options, key=lambda one: one.box.centre[0])
    by_height = sorted(options, key=lambda one: one.box.centre[1])
    by_area = sorted(options, key=lambda one: one.box.area)
    chosen = {
        "left": by_side[0],
        "right": by_side[-1],
        "middle": by_side[len(by_side) // 2],
        "second": by_side[min(1, len(by_side) - 1)],
        "third": by_side[min(2, len(by_side) - 1)],
        "top": by_height[0],
        "bottom": by_height[-1],
        "largest": by_area[-1],
        "smallest": by_area[0],
    }
    return chosen.get(place) or max(options, key=lambda one: one.score)
