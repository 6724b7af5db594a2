"""Pictures that pages sent, by the hash of their pixels. They are re-encoded: pixels and no metadata."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from physplan.errors import PhysPlanError
from physplan.files import atomic_path
from physplan.pictures import decode_picture
from physplan.reasoning.picture import Picture


class PictureStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def receive(self, content: bytes) -> str:
        """A file of unknown origin; its content decides its type."""
        return self.put(decode_picture(content, "The file"))

    def put(self, image: Image.Image) -> str:
        picture = Picture.of(image)
        path = self._folder / f"{picture.sha256}.png"
        if not path.exists():
            with atomic_path(path) as temporary:
                picture.image.save(temporary, "PNG")
        return picture.sha256

    def path(self, id: str) -> Path:
        """Of a name that is a hash: `spec.picture_id` says so before."""
        path = self._folder / f"{id}.png"
        if not path.is_file() or path.is_symlink():
            raise PhysPlanError("The picture is not here any more: choose it again.")
        return path

    def size(self, id: str) -> tuple[int, int]:
        with Image.open(self.path(id), formats=["PNG"]) as opened:
            return opened.size
