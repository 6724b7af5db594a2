"""The first frame: a picture from a file or from memory, checked, and encoded once for the models."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from physplan.calls.protocol import ImagePart
from physplan.errors import PhysPlanError

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_BYTES = 30_000_000
MAX_PIXELS = 50_000_000
MIN_SIDE = 16
SENT_SIDE = 1536  # more than this is scaled down by the services anyway
SENT_QUALITY = 95


@dataclass(frozen=True)
class Picture:
    """An RGB picture without metadata. `sha256` is of its pixels: the same whatever the file format."""

    image: Image

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Picture:
        from PIL import Image, ImageOps

        path = Path(path)
        try:
            size = path.stat().st_size
        except (OSError, ValueError):
            raise PhysPlanError(f"There is no image at {path}: check the path.") from None
        if path.is_dir():
            raise PhysPlanError(f"{path} is a folder: give one image file.")
        if size > MAX_BYTES:
            raise PhysPlanError(f"{path} is larger than {MAX_BYTES // 10**6} MB: give a smaller image.")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)
                with Image.open(path) as opened:
                    _check_size(opened.width, opened.height, str(path))
                    return cls.of(ImageOps.exif_transpose(opened))
        except Image.DecompressionBombError:
            limit = MAX_PIXELS // 10**6
            raise PhysPlanError(f"{path} has far too many pixels: scale it to {limit} megapixels.") from None
        except (OSError, ValueError, SyntaxError):
            raise PhysPlanError(f"{path} is not a readable image: give a PNG, JPEG or WebP file.") from None

    @classmethod
    def of(cls, image: Picture | Image | str | os.PathLike[str]) -> Picture:
        """A picture from whatever names one: itself, a PIL image or a path."""
        if isinstance(image, Picture):
            return image
        if isinstance(image, str | os.PathLike):
            return cls.open(image)
        _check_size(image.width, image.height, "The image")
        if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
            from PIL import Image as images

            # Without this, what is transparent would show whatever colour lies hidden under it.
            over = images.new("RGBA", image.size, "white")
            over.alpha_composite(image.convert("RGBA"))
            image = over
        return cls(image.convert("RGB"))

    @cached_property
    def sha256(self) -> str:
        header = f"RGB {self.image.width}x{self.image.height}\n".encode()
        return hashlib.sha256(header + self.image.tobytes()).hexdigest()

    @cached_property
    def part(self) -> ImagePart:
        """What the models are sent: a JPEG of at most 1536 pixels a side. Named by the pixels it was made of,
        so that another version of the encoder does not make another question of it."""
        from PIL import Image as images

        sent = self.image
        if max(sent.size) > SENT_SIDE:
            sent = sent.copy()
            sent.thumbnail((SENT_SIDE, SENT_SIDE), images.Resampling.LANCZOS)
        encoded = io.BytesIO()
        sent.save(encoded, "JPEG", quality=SENT_QUALITY, subsampling=0)
        name = hashlib.sha256(f"{self.sha256} {SENT_SIDE} {SENT_QUALITY}".encode()).hexdigest()
        return ImagePart(data=encoded.getvalue(), media_type="image/jpeg", pixels=name)


def _check_size(width: int, height: int, what: str) -> None:
    if width * height > MAX_PIXELS:
        raise PhysPlanError(
            f"{what} has {width} x {height} pixels: scale it to {MAX_PIXELS // 10**6} megapixels or less."
        )
    if min(width, height) < MIN_SIDE:
        raise PhysPlanError(f"{what} has {width} x {height} pixels: each side needs at least {MIN_SIDE}.")
