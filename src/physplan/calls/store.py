"""The recorder and replayer: every answer under a key made of all that decides it.

    <folder>/answers/<key>.json    the request, the answer, what it cost
    <folder>/blobs/<digest>.<ext>  pictures that were sent or drawn, once each

Files are written whole or not at all, and the answer's file last: a key that is there is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from physplan.calls.protocol import IMAGE_TYPES, ImagePart, Reply, Request, Usage
from physplan.errors import PhysPlanError
from physplan.files import write_atomic

VERSION = 1


def request_key(provider: str, request: Request) -> str:
    identity = {"version": VERSION, "provider": provider, **request.identity()}
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


class AnswerStore:
    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def get(self, key: str) -> Reply | None:
        path = self._path(key)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise PhysPlanError(
                f"The stored answer {path} cannot be read ({error}): delete it to ask again."
            ) from None
        try:
            reply = record["reply"]
            return Reply(
                text=reply["text"],
                images=tuple(self._blob(image) for image in reply["images"]),
                usage=Usage(**reply["usage"]) if reply["usage"] else None,
                model=reply["model"],
                truncated=reply["truncated"],
            )
        except (KeyError, TypeError):
            raise PhysPlanError(f"The stored answer {path} is damaged: delete it to ask again.") from None

    def cost(self, key: str) -> dict[str, Any]:
        record = json.loads(self._path(key).read_text(encoding="utf-8"))
        return dict(record.get("cost", {}))

    def put(self, key: str, provider: str, request: Request, reply: Reply, cost: dict[str, Any]) -> None:
        record = {
            "version": VERSION,
            "key": key,
            "provider": provider,
            "purpose": request.purpose,
            "request": request.identity(),
            "reply": {
                "text": reply.text,
                "images": [{"digest": i.digest, "media_type": i.media_type} for i in reply.images],
                "usage": asdict(reply.usage) if reply.usage else None,
                "model": reply.model,
                "truncated": reply.truncated,
            },
            "cost": cost,
        }
        try:
            for image in (*request.images, *reply.images):
                path = self._blob_path(image.digest, image.media_type)
                if not path.exists():
                    write_atomic(path, image.data)
            # Compact: indenting would take the planner longer than all its checks.
            write_atomic(self._path(key), json.dumps(record, ensure_ascii=False) + "\n")
        except OSError as error:
            raise PhysPlanError(f"The answer cannot be stored in {self.folder}: {error.strerror}.") from None

    def _path(self, key: str) -> Path:
        return self.folder / "answers" / f"{key}.json"

    def _blob_path(self, digest: str, media_type: str) -> Path:
        return self.folder / "blobs" / f"{digest}.{IMAGE_TYPES.get(media_type, 'bin')}"

    def _blob(self, image: dict[str, str]) -> ImagePart:
        path = self._blob_path(image["digest"], image["media_type"])
        try:
            data = path.read_bytes()
        except OSError:
            raise PhysPlanError(
                f"The stored picture {path} is gone: delete the answer that names it to ask again."
            ) from None
        return ImagePart(data=data, media_type=image["media_type"], pixels=image["digest"])
