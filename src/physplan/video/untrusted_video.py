"""Video files of unknown origin: MP4, Matroska, WebM or GIF by content, and decoded as far as a limit.

FFmpeg takes a text that lists other files, or addresses, for a video of them: what such a list names would be
shown in a page that is passed on. So the content decides what is opened, and as what.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError

MAX_FRAME = 50_000_000  # pixels
MAX_FRAMES = 20_000
MAX_PIXELS = 1_000_000_000  # of all frames: 3 GB of bytes
NOT_UTF8 = "(not UTF-8)"  # before a tag of other bytes
_ATOMS = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")


def open_video(path: str | os.PathLike[str]) -> Any:
    """An open container of PyAV with a video stream whose frames are not too large."""
    import av

    try:
        container = av.open(f"file:{os.fspath(path)}", format=_kind(path), metadata_errors="surrogateescape")
    except FileNotFoundError:
        raise PhysPlanError(f"There is no video {path}.") from None
    except (av.FFmpegError, OSError) as error:
        raise PhysPlanError(f"{path} cannot be read as a video ({error}): make it again.") from None
    if not container.streams.video:
        container.close()
        raise PhysPlanError(f"{path} holds no video stream.")
    width, height = container.streams.video[0].width, container.streams.video[0].height
    if width * height > MAX_FRAME:
        container.close()
        raise PhysPlanError(
            f"{path} has frames of {width} x {height} pixels: scale it to {MAX_FRAME // 10**6} megapixels."
        )
    return container


def decode(container: Any, path: Path, *, pixels: int = MAX_PIXELS) -> Iterator[Any]:
    """The frames one by one; a small file can hold very many."""
    import av

    seen = 0
    try:
        for count, frame in enumerate(container.decode(video=0), start=1):
            seen += frame.width * frame.height
            if count > MAX_FRAMES or frame.width * frame.height > MAX_FRAME or seen > pixels:
                raise PhysPlanError(
                    f"{path} has more than {MAX_FRAMES} frames or {pixels // 10**6} megapixels in all: "
                    "cut it, or scale it down."
                )
            yield frame
    except av.FFmpegError as error:
        raise PhysPlanError(f"{path} breaks off while it is decoded ({error}): make it again.") from None


def tags_of(container: Any) -> dict[str, str]:
    """What the file says of itself; Matroska writes names in capitals. What is no UTF-8 says so."""
    return {_text(name).lower(): _text(text) for name, text in container.metadata.items()}


def _text(tag: str) -> str:
    try:
        tag.encode()
    except UnicodeEncodeError:
        return f"{NOT_UTF8} {tag.encode('utf-8', 'replace').decode()}"
    return tag


def read_tags(path: str | os.PathLike[str]) -> dict[str, str]:
    """What a file says of itself; no frame is decoded."""
    with open_video(path) as container:
        return tags_of(container)


def is_video(path: str | os.PathLike[str]) -> bool:
    """By its first bytes, whatever it is called."""
    try:
        return bool(_kind(path))
    except (OSError, PhysPlanError):
        return False


def _kind(path: str | os.PathLike[str]) -> str:
    """FFmpeg's name for what the file is. A pipe is opened without waiting for its writer."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PhysPlanError(f"{path} is not a regular file: give the video itself.")
        start = os.read(descriptor, 12)
    finally:
        os.close(descriptor)
    if start[4:8] in _ATOMS:
        return "mov"
    if start.startswith(b"\x1a\x45\xdf\xa3"):
        return "matroska"
    if start.startswith(b"GIF8"):
        return "gif"
    raise PhysPlanError(f"{path} cannot be read as a video: give an MP4, MOV, Matroska, WebM or GIF file.")
