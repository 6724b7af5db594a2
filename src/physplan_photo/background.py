"""MI-GAN: the background behind an object, at any size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from physplan.errors import PhysPlanError
from physplan_photo.grain import grain
from physplan_photo.objects import Mask, box_of
from physplan_photo.sessions import session

FILE = "migan_pipeline_v2.onnx"
LARGE_HOLE_DEPTH = 0.12  # of the shorter side: a hole whose middle is further from its rim is large
MIN_EDGES = 9.0  # of 255: edges of a ground that the network continues better (`structure`)
MAX_EVEN_EDGES = 2.0  # of 255: the same for small holes
PLAIN_DISTANCE = 36  # of 255: colours that near are one ground
MIN_PLAIN = 0.9  # of a small hole's rim that has this ground
RIM_WIDTH = 30  # pixels around a hole that say what ground it lies in
NETWORK_SIDE = 512  # the network works on squares of this side


def complete_background(image: Image.Image, mask: Mask, *, grow: int = 0) -> Image.Image:
    """`image` with what `mask` [H, W] covers replaced; every other pixel keeps its value.

    `grow` widens the hole by pixels, so that an object's soft rim goes with it.
    """
    from scipy import ndimage

    pixels = np.array(image.convert("RGB"))
    if mask.shape != pixels.shape[:2]:
        raise ValueError(f"a mask of {mask.shape} for an image of {pixels.shape[:2]}")
    hole = ndimage.binary_dilation(mask, iterations=grow) if grow and mask.any() else mask
    if not hole.any():
        return Image.fromarray(pixels)
    if hole.all():
        raise PhysPlanError(
            "The object covers the whole picture, so that no background is left to show where it moves: "
            "choose a verb that changes its look (turns blue, freezes over), or outline it more tightly."
        )
    top, bottom, left, right = _surroundings(hole)
    inside = np.s_[top:bottom, left:right]
    around = pixels[inside]
    filled = _ground_fill(around, hole[inside])
    if filled is None:
        filled = _fill(around, hole[inside])
    pixels[inside] = np.where(hole[inside][..., None], filled, pixels[inside])
    return Image.fromarray(pixels)


def _surroundings(hole: Mask) -> tuple[int, int, int, int]:
    """The hole's box with half its size again on each side, at least a square of 512 where there is one."""
    height, width = hole.shape
    box = box_of(hole)
    reach = max(box.right - box.left, box.bottom - box.top)
    side = max(2 * reach, NETWORK_SIDE)
    x, y = box.centre
    left, right = _span(x, side, width)
    top, bottom = _span(y, side, height)
    return top, bottom, left, right


def _span(centre: float, side: float, limit: int) -> tuple[int, int]:
    if side >= limit:
        return 0, limit
    start = int(min(max(0.0, centre - side / 2), limit - side))
    return start, min(limit, start + int(side))


def _fill(pixels: NDArray[np.uint8], hole: Mask) -> NDArray[np.uint8]:
    """The network's own answer [H, W, 3]; small pictures are padded by their mirror image."""
    height, width = hole.shape
    feed = {
        "image": np.ascontiguousarray(pixels.transpose(2, 0, 1)[None]),
        "mask": np.where(hole, 0, 255).astype(np.uint8)[None, None],
    }
    result: NDArray[np.uint8] = session(FILE).run(None, feed)[0][0].transpose(1, 2, 0)
    return result[:height, :width]


def _ground_fill(pixels: NDArray[np.uint8], hole: Mask) -> NDArray[np.uint8] | None:
    """The border's colours drawn smoothly over the hole, with the ground's own grain.

    For large holes in a ground without edges (a wall, a table, a sky), where the network invents things, and
    for small ones in an even ground, where it leaves a tint; None for others.
    """
    from scipy import ndimage

    if not (~hole).any():
        return None
    large = float(ndimage.distance_transform_edt(hole).max()) >= LARGE_HOLE_DEPTH * min(hole.shape)
    ground = ~hole if large else _plain(pixels, hole)
    if ground is None:
        return None
    smooth = _smooth_fill(pixels, hole, ground)
    limit = MIN_EDGES if large else MAX_EVEN_EDGES
    if structure(np.where(ground[..., None], pixels, smooth), hole) >= limit:
        return None
    return np.clip(np.where(hole[..., None], smooth + grain(pixels, hole), pixels), 0, 255).astype(np.uint8)


def _plain(pixels: NDArray[np.uint8], hole: Mask) -> Mask | None:
    """Where the picture has the colour of a hole's rim; None where the rim has several."""
    from scipy import ndimage

    rim = (ndimage.distance_transform_edt(~hole) < RIM_WIDTH) & ~hole
    away = np.abs(pixels - np.median(pixels[rim], axis=0)).max(-1)
    found: Mask = (away < PLAIN_DISTANCE) & ~hole
    return found if found[rim].mean() >= MIN_PLAIN else None


def structure(filled: NDArray[Any], hole: Mask) -> float:
    """How strong the ground's edges are around a hole, of 255: what is left of it between two blurs.

    `filled` is smooth inside the hole, so that the object's own edge does not count.
    """
    from scipy import ndimage

    away = ndimage.distance_transform_edt(~hole)
    ring = (away > 4) & (away < RIM_WIDTH)
    if not ring.any():
        return 255.0
    light = filled.mean(-1)
    middle = ndimage.gaussian_filter(light, 3) - ndimage.gaussian_filter(light, 14)
    return float(np.percentile(np.abs(middle)[ring], 80))


def _smooth_fill(pixels: NDArray[np.uint8], hole: Mask, ground: Mask) -> NDArray[np.float32]:
    """The border's colours drawn smoothly over the hole [H, W, 3]: ever wider means of the ground."""
    known = ground[..., None].astype(np.float32)
    colours, weight = pixels.astype(np.float32), known.copy()
    filled = colours * known
    for sigma in (6, 14, 30, 60, 120, 400):
        share = _blurred(known, sigma)
        mean = _blurred(colours * known, sigma) / np.maximum(share, 1e-6)
        add = np.where((weight < 1) & (share > 1e-3), np.minimum(1 - weight, share * 2), 0.0)
        filled += add * mean
        weight += add
    filled += (1 - weight) * colours[ground].mean(0)
    return _blurred(np.where(ground[..., None], colours, filled), 4)


def _blurred(values: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """A Gaussian blur [H, W, C]; a wide one on a smaller copy."""
    import cv2

    height, width = values.shape[:2]
    step = max(1, int(sigma // 6))
    small = (max(2, width // step), max(2, height // step))
    less = cv2.resize(values, small, interpolation=cv2.INTER_AREA) if step > 1 else values
    found = cv2.GaussianBlur(less, (0, 0), sigma / step)
    if step > 1:
        found = cv2.resize(found, (width, height), interpolation=cv2.INTER_LINEAR)
    return found.reshape(height, width, -1).astype(np.float32)
