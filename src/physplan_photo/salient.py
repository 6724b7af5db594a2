"""U2-Net small: the main object of a picture, for when no object is named."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from physplan.perception.images import IMAGENET
from physplan_photo.objects import Mask
from physplan_photo.sessions import session

FILE, SIDE = "u2netp.onnx", 320


def saliency(picture: Image.Image) -> NDArray[np.float32]:
    """How much each pixel belongs to the main object, [H, W] in [0, 1]; all 0 where nothing stands out."""
    small = picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    pixels = np.asarray(small, np.float32)
    pixels = pixels / max(float(pixels.max()), 1e-6)
    mean, std = (np.array(values, np.float32) for values in IMAGENET)
    feed = ((pixels - mean) / std).transpose(2, 0, 1)[None]
    seen = session(FILE).run(None, {"input.1": feed.astype(np.float32)})[0][0, 0]
    if float(seen.max()) < 0.5:
        return np.zeros(picture.size[::-1], np.float32)
    scaled = Image.fromarray(seen.astype(np.float32)).resize(picture.size, Image.Resampling.BILINEAR)
    return np.clip(np.asarray(scaled), 0, 1)


def main_mask(picture: Image.Image) -> Mask:
    """The largest connected part that stands out, [H, W]; empty where there is none."""
    from scipy import ndimage

    parts, count = ndimage.label(saliency(picture) > 0.5)
    if not count:
        return np.zeros(parts.shape, bool)
    sizes = np.bincount(parts.ravel())
    sizes[0] = 0
    return np.asarray(parts == sizes.argmax())
