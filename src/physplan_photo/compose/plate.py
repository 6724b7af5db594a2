"""The photograph without its moving objects: completed by MI-GAN, kept for the next to ask."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import cv2
import numpy as np
from PIL import Image

from physplan_photo.background import FILE, complete_background
from physplan_photo.compose.cutouts import Array
from physplan_photo.weights import have

KEPT_PLATES = 4
FALLBACK = (
    "the background is filled in by OpenCV, because MI-GAN's weights are missing: "
    "run `physplan models get photo`"
)
_known: OrderedDict[str, Array] = OrderedDict()


def background(image: Array, hole: Array, behind: Array | None = None) -> tuple[Array, str]:
    """`image` [H, W, 3] in [0, 1] completed inside `hole` [H, W], by `behind` where that is known, and a note
    where it was done by OpenCV."""
    if not hole.any():
        return image, ""
    if behind is not None:
        return _joined(image, behind, hole), ""
    if have(FILE) is None:
        pixels = np.round(image * 255).astype(np.uint8)
        filled = cv2.inpaint(pixels, hole.astype(np.uint8), max(3, len(image) // 100), cv2.INPAINT_TELEA)
        return _joined(image, filled.astype(np.float32) / 255, hole), FALLBACK
    key = hashlib.sha256(image.tobytes() + np.packbits(hole).tobytes()).hexdigest()
    if key not in _known:
        picture = Image.fromarray(np.round(image * 255).astype(np.uint8))
        _known[key] = np.asarray(complete_background(picture, hole), np.float32) / 255
        while len(_known) > KEPT_PLATES:
            _known.popitem(last=False)
    return _joined(image, _known[key], hole), ""


def _joined(image: Array, filled: Array, hole: Array) -> Array:
    """A soft seam inside the hole; the photograph outside to the bit."""
    soft = np.clip(cv2.GaussianBlur(hole.astype(np.float32), (0, 0), 1.2) * 2 - 1, 0, 1)[..., None]
    soft = np.where(hole[..., None], np.maximum(soft, 0.35), 0)
    return (image * (1 - soft) + filled * soft).astype(np.float32)
