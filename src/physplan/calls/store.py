"""The recorder and replayer: every answer under a key made of all that decides it.

    <folder>/answers/<key>.json    the request, the answer, what it cost
    <folder>/blobs/<digest>.<ext>  pictures that were sent or drawn, once each
    <folder>/locks/<key>.lock      held while the question is asked

Files are written whole or not at all, and the answer's file last: a key that is there is complete. Each
answer holds its own checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from physplan.calls.protocol import IMAGE_TYPES, ImagePart, Reply, Request, Usage
from physplan.errors import PhysPlanError
from physplan.files import write_atomic
from physplan.foreign import inside, read_file

VERSION = 1
DIGEST = re.compile("[0-9a-f]{64}")
MOST_BYTES = 100_000_000  # of an answer or a picture
PART = ".part"  # an answer on its way to its place


def request_key(provider: str, request: Request) -> str:
    identity = {"version": VERSION, "provider": provider, **request.identity()}
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


class AnswerStore:
    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def get(self, key: str) -> tuple[Reply, dict[str, Any]] | None:
        """The answer and what it cost."""
        path = self._path(key)
        try:
            record = json.loads(read_file(path, limit=MOST_BYTES, links=False))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            raise self._damaged(path) from None
        try:
            if record.get("sha256", _checksum(record)) != _checksum(record):  # the first version had none
                raise self._damaged(path)
            reply, cost = record["reply"], record["cost"]
            images = tuple(self._blob(image) for image in reply["images"])
            usage = Usage(**reply["usage"]) if reply["usage"] else None
            words = [reply["text"], reply["model"]]
            counts = [] if usage is None else [usage.input_tokens, usage.output_tokens, usage.images]
            if not (all(type(w) is str for w in words) and all(type(n) is int and n >= 0 for n in counts)):
                raise self._damaged(path)
            found = Reply(
                text=words[0], images=images, usage=usage, model=words[1], truncated=bool(reply["truncated"])
            )
            return found, {"usd": cost["usd"], "seconds": cost["seconds"]}
        except (KeyError, TypeError, AttributeError):
            raise self._damaged(path) from None

    @contextmanager
    def asking(self, key: str, *, patience: float) -> Iterator[None]:
        """One asks this question at a time, over all threads and processes that share the folder.

        What a killed process had received, and not yet put in its place, is found here.
        """
        path = self.folder / "locks" / f"{key}.lock"
        lock = FileLock(path, timeout=patience)
        with self._writing():
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire()
            except Timeout:
                raise PhysPlanError(
                    f"Another process has been asking the same question for {patience:.0f} s: wait for it, "
                    f"or end it, and run it again ({path})."
                ) from None
        try:
            with self._writing():
                self._recover(key)
            yield
        finally:
            lock.release()

    def keep(self, images: Iterable[ImagePart]) -> None:
        """Pictures that are about to be sent: what is stored before the answer need not be after it."""
        with self._writing():
            for image in images:
                _sync(self._place(image))

    def put(self, key: str, provider: str, request: Request, reply: Reply, cost: dict[str, Any]) -> None:
        """Store an answer. Once `PART` is written a kill cannot lose it; synced, no loss of power can."""
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
        # Compact: indenting would take the planner longer than all its checks.
        content = json.dumps({**record, "sha256": _checksum(record)}, ensure_ascii=False) + "\n"
        path = self._path(key)
        with self._writing():
            blobs = [self._place(image) for image in (*reply.images, *request.images)]
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(PART)
            part.unlink(missing_ok=True)  # it may be a link that another user made
            part.write_bytes(content.encode())
            _sync(*blobs, part)
            part.replace(path)
            _sync(path.parent)

    def _recover(self, key: str) -> None:
        path = self._path(key)
        part = path.with_suffix(PART)
        if path.exists() or not part.exists():
            return
        try:
            record = json.loads(read_file(part, limit=MOST_BYTES, links=False))
            whole = record["sha256"] == _checksum(record)
        except (OSError, PhysPlanError, ValueError, KeyError, TypeError, AttributeError):
            whole = False  # cut off while it was written
        part.replace(path) if whole else part.unlink()

    def _place(self, image: ImagePart) -> Path:
        path = self._blob_path(image.digest, image.media_type)
        if not path.exists() or path.stat().st_size != len(image.data):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, image.data)  # a kill's leftover goes with the next write of the same file
        return path

    @contextmanager
    def _writing(self) -> Iterator[None]:
        for name in ("answers", "blobs", "locks"):
            inside(self.folder, name)
        try:
            yield
        except OSError as error:
            raise PhysPlanError(f"Answers cannot be stored in {self.folder}: {error.strerror}.") from None

    def _path(self, key: str) -> Path:
        return self.folder / "answers" / f"{key}.json"

    def _blob_path(self, digest: str, media_type: str) -> Path:
        return self.folder / "blobs" / f"{digest}.{IMAGE_TYPES.get(media_type, 'bin')}"

    def _blob(self, image: dict[str, str]) -> ImagePart:
        """A picture that a model drew, which is named by the checksum of its bytes."""
        if not DIGEST.fullmatch(image["digest"]):
            raise KeyError("digest")
        path = self._blob_path(image["digest"], image["media_type"])
        try:
            data = read_file(path, limit=MOST_BYTES, links=False)
        except OSError:
            data = b""
        if hashlib.sha256(data).hexdigest() != image["digest"]:
            raise PhysPlanError(
                f"The stored picture {path} is gone or damaged: delete the answer that names it to ask again."
            )
        return ImagePart(data=data, media_type=image["media_type"], pixels=image["digest"])

    def _damaged(self, path: Path) -> PhysPlanError:
        # Asked again by itself, it would cost again, and might change all answers that follow from it.
        return PhysPlanError(
            f"The stored answer {path} is damaged: put a copy back, or delete it to ask (and pay) again."
        )


def _checksum(record: Mapping[str, Any]) -> str:
    content = {name: value for name, value in record.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _sync(*paths: Path) -> None:
    """To the disk, so that a loss of power does not lose what was paid for."""
    for path in paths:
        if path.is_dir() and os.name != "posix":
            continue
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
