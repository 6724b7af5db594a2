"""Drawings by content: under a key made of all that decides them, so that none is drawn or paid for twice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from physplan.errors import PhysPlanError
from physplan.files import atomic_path
from physplan.keyframes.protocol import EditRequest
from physplan.pictures import open_picture
from physplan.reasoning.picture import Picture

VERSION = 1


def drawing_key(request: EditRequest, identity: Mapping[str, Any]) -> str:
    event = request.chain.events[request.event]
    content = {
        "version": VERSION,
        "image": Picture.of(request.image).sha256,
        "instruction": request.instruction,
        "graph": request.chain.graph.to_json(),
        "net_edits": [edit.to_json() for edit in event.net_edits],
        "seed": request.seed,
        "complaints": request.complaints,
        "editor": dict(identity),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


class DrawingStore:
    """PNG files in one folder; without a folder nothing is kept."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)

    def get(self, key: str) -> Image.Image | None:
        if self.folder is None or not (path := self.folder / f"{key}.png").exists():
            return None
        try:
            return open_picture(path, min_side=1)
        except PhysPlanError:
            raise PhysPlanError(
                f"The stored keyframe {path} cannot be read: delete it to draw it again."
            ) from None

    def put(self, key: str, image: Image.Image) -> None:
        if self.folder is not None:
            with atomic_path(self.folder / f"{key}.png") as temporary:
                image.save(temporary)
