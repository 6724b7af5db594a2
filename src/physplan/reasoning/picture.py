"""The first frame: a picture from a file or from memory, checked, and encoded once for the models."""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from physplan.calls.protocol import ImagePart

if TYPE_CHECKING:
    from PIL.Image import Image

SENT_SIDE = 1536  # more than this is scaled down by the services anyway
SENT_QUALITY = 95


@dataclass(frozen=True)
class Picture:
    """An RGB picture without metadata. `sha256` is of its pixels: the same whatever the file format."""

    image: Image

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Picture:
        from physplan.pictures import open_picture

        return cls(open_picture(path))

    @classmethod
    def of(cls, image: Picture | Image | str | os.PathLike[str]) -> Picture:
        """A picture from whatever names one: itself, a PIL image or a path."""
        if isinstance(image, Picture):
            return image
        if isinstance(image, str | os.PathLike):
            return cls.open(image)
        from physplan.pictures import check_size, to_rgb

        check_size(image.width, image.height, "The image")
        return cls(to_rgb(image))

    @cached_property
    def sha256(self) -> str:
        header = f"RGB {self.image.width}x{self.image.height}\n".encode()
        return hashlib.sha256(header + self.image.tobytes()).hexdigest()

    @cached_property
    def part(self) -> ImagePart:
        """What the models are sent: a JPEG of at most 1536 pixels a side. Named by the pixels it was made of,
        so that another version of the encoder does not make another question of it."""
        from PIL import Image

        sent = self.image
        if max(sent.size) > SENT_SIDE:
            sent = sent.copy()
            sent.thumbnail((SENT_SIDE, SENT_SIDE), Image.Resampling.LANCZOS)
        encoded = io.BytesIO()
        sent.save(encoded, "JPEG", quality=SENT_QUALITY, subsampling=0)
        name = hashlib.sha256(f"{self.sha256} {SENT_SIDE} {SENT_QUALITY}".encode()).hexdigest()
        return ImagePart(data=encoded.getvalue(), media_type="image/jpeg", pixels=name)
