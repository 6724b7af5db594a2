"""Pictures of unknown origin, opened in one place: PNG, JPEG or WebP by content, bounded, 8 bits, RGB."""

from __future__ import annotations

import io
import os
import warnings
from typing import TYPE_CHECKING

from PIL import Image, ImageOps

from physplan.errors import PhysPlanError
from physplan.foreign import read_file

if TYPE_CHECKING:
    from torch import Tensor

FORMATS = ("PNG", "JPEG", "WEBP")  # others start programs (EPS), or have never been needed
MAX_BYTES = 30_000_000
MAX_PIXELS = 50_000_000
MIN_SIDE = 16
ROW_BAND = 64  # rows that are scaled at a time: 50 megapixels as whole numbers would take a gigabyte


def open_picture(path: str | os.PathLike[str], *, min_side: int = MIN_SIDE) -> Image.Image:
    """A file as an upright RGB picture."""
    name = os.fspath(path)
    if os.path.isdir(path):
        raise PhysPlanError(f"{name} is a folder: give one image file.")
    try:
        content = read_file(path, limit=MAX_BYTES)
    except (OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            raise PhysPlanError(f"{name} may not be read: check its permissions.") from None
        raise PhysPlanError(f"There is no image at {name}: check the path.") from None
    return decode_picture(content, name, min_side=min_side)


def decode_picture(content: bytes, name: str, *, min_side: int = MIN_SIDE) -> Image.Image:
    """The bytes of a picture; `name` is what a message calls it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Pillow, about what is refused or made right here
            with Image.open(io.BytesIO(content), formats=FORMATS) as opened:
                check_size(opened.width, opened.height, name, min_side)
                return to_rgb(ImageOps.exif_transpose(opened), name)
    except Image.DecompressionBombError:
        limit = MAX_PIXELS // 10**6
        raise PhysPlanError(f"{name} has far too many pixels: scale it to {limit} megapixels.") from None
    except (OSError, ValueError, SyntaxError, EOFError, KeyError, IndexError, OverflowError, MemoryError):
        raise PhysPlanError(f"{name} is not a readable image: give a PNG, JPEG or WebP file.") from None


def check_size(width: int, height: int, name: str, min_side: int = MIN_SIDE) -> None:
    if width * height > MAX_PIXELS:
        raise PhysPlanError(
            f"{name} has {width} x {height} pixels: scale it to {MAX_PIXELS // 10**6} megapixels or less."
        )
    if min(width, height) < min_side:
        raise PhysPlanError(f"{name} has {width} x {height} pixels: each side needs at least {min_side}.")


def to_rgb(image: Image.Image, name: str = "The image") -> Image.Image:
    """Eight bits a channel: 16 are scaled, and what is transparent lies on white."""
    if image.mode == "F":
        raise PhysPlanError(f"{name} holds floating point numbers: save it with 8 bits a channel.")
    if image.mode.startswith("I"):
        image = _eight_bits(image, name)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        # Without this, what is transparent would show whatever colour lies hidden under it.
        over = Image.new("RGBA", image.size, "white")
        over.alpha_composite(image.convert("RGBA"))
        image = over
    return image.convert("RGB")


def _eight_bits(image: Image.Image, name: str) -> Image.Image:
    """Pillow would cut 16 bits off at 255, which makes nearly everything white."""
    import numpy as np  # here and below: a wrong path is answered without it

    scaled = np.empty((image.height, image.width), np.uint8)
    for top in range(0, image.height, ROW_BAND):
        values = np.asarray(image.crop((0, top, image.width, min(top + ROW_BAND, image.height))), np.int32)
        if values.min(initial=0) < 0 or values.max(initial=0) > 65_535:
            raise PhysPlanError(f"{name} holds numbers beyond 16 bits: save it with 8 bits a channel.")
        scaled[top : top + ROW_BAND] = (values + 128) // 257
    return Image.fromarray(scaled)


def to_tensor(image: Image.Image) -> Tensor:
    """A picture as float [3, H, W] in [0, 1]."""
    import numpy as np
    import torch

    return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1).float() / 255


def to_picture(image: Tensor) -> Image.Image:
    """The inverse of `to_tensor`, rounded to 8 bits."""
    pixels = (image.detach().float().clamp(0, 1) * 255).round().byte()
    return Image.fromarray(pixels.permute(1, 2, 0).cpu().numpy())
