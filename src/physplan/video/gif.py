"""What FFmpeg's GIF writer leaves to us: one palette for the whole video, and a comment for metadata."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from PIL import Image


def with_palette(images: list[Any], width: int, height: int, rate: Fraction) -> list[Any]:
    """One palette of 256 colours for the whole video: a GIF that does not flicker."""
    import av
    from av.filter import Graph

    graph = Graph()
    source = graph.add_buffer(width=width, height=height, format=av.VideoFormat("rgb24"), time_base=1 / rate)
    split, generate, use = graph.add("split"), graph.add("palettegen"), graph.add("paletteuse")
    sink = graph.add("buffersink")
    source.link_to(split)
    split.link_to(generate, 0, 0)
    split.link_to(use, 1, 0)
    generate.link_to(use, 0, 1)
    use.link_to(sink)
    graph.configure()
    for index, image in enumerate(images):
        image.pts, image.time_base = index, 1 / rate
        source.push(image)
    source.push(None)
    coloured = []
    while True:
        try:
            coloured.append(sink.pull())
        except (av.FFmpegError, EOFError, BlockingIOError):
            return coloured


def add_comment(path: Path, comment: str) -> None:
    """Put a comment extension behind the global palette; FFmpeg's GIF writer has no place for metadata."""
    data = path.read_bytes()
    start = 13 + (3 * 2 ** ((data[10] & 7) + 1) if data[10] & 0x80 else 0)
    text = comment.encode()
    blocks = b"".join(bytes([len(b)]) + b for b in (text[k : k + 255] for k in range(0, len(text), 255)))
    path.write_bytes(data[:start] + b"\x21\xfe" + blocks + b"\x00" + data[start:])


def read_comment(path: Path) -> str | None:
    if path.suffix.lower() != ".gif":
        return None
    with Image.open(path) as image:
        comment = image.info.get("comment", b"")
    return comment.decode(errors="replace") if isinstance(comment, bytes) else str(comment)
