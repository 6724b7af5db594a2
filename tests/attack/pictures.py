"""Files that are called pictures: a picture or a sentence, quickly, and no other program is started."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image
from tests.attack.campaign import Arena, Probe

from physplan_testing import melting


def attack(arena: Arena) -> None:
    for probe in arena.probes():
        name = list(PICTURES)[probe.number % len(PICTURES)]
        path = probe.folder / probe.chance.choice(["a.png", "a.jpg", "[bold].webp", "a\x1b[2J.png"])
        PICTURES[name](probe.chance, path)
        environ, started = watched_programs(probe)
        argv = probe.chance.choice(
            [
                ("plan", "--image", path.name, "--prompt", melting.PROMPT, "-o", "plan.json"),
                ("generate", "--image", path.name, "--prompt", melting.PROMPT, "--dry-run", "-o", "run"),
            ]
        )
        outcome = probe.command(*argv, environ=environ)
        probe.expect(outcome.code in (0, 2), f"exit code {outcome.code} for a picture: {name}")
        probe.expect(not started.exists(), f"a program was started for a picture: {name}")
        probe.tried()


def watched_programs(probe: Probe) -> tuple[dict[str, str], Path]:
    """Ghostscript and the like, as they would be found: each leaves a mark."""
    started, folder = probe.folder / "started", probe.folder / "bin"
    folder.mkdir()
    for name in ("gs", "gswin64c", "magick", "convert", "xv", "display"):
        (folder / name).write_text(f"#!/bin/sh\ntouch '{started}'\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}, started


def _saved(kind: str, image: Image.Image | None = None) -> bytes:
    file = io.BytesIO()
    (image or Image.new("RGB", (64, 48), "red")).save(file, kind)
    return file.getvalue()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _png(width: int, height: int, *chunks: bytes, bits: int = 8, colour: int = 2) -> bytes:
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + _chunk(b"IEND", b"")


def _other_format(chance: Random, path: Path) -> None:
    path.write_bytes(_saved(chance.choice(["EPS", "GIF", "BMP", "TIFF", "PPM", "PDF", "ICO", "TGA"])))


def _script(chance: Random, path: Path) -> None:
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 48\n(notes.txt) (r) file\nshowpage\n")


def _flipped(chance: Random, path: Path) -> None:
    content = bytearray(_saved(chance.choice(["PNG", "JPEG", "WEBP"]), Image.effect_noise((64, 48), 60)))
    for _ in range(chance.randint(1, 9)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content if chance.random() < 0.6 else content[: chance.randrange(len(content))])


def _large(chance: Random, path: Path) -> None:
    """Few bytes, very many pixels."""
    width, height = chance.choice(
        [(65_000, 65_000), (100_000, 600), (2**31 - 1, 2**31 - 1), (0, 0), (8_000, 6_500)]
    )
    path.write_bytes(_png(width, height, _chunk(b"IDAT", zlib.compress(b"\0" * 1_000_000))))


def _words(chance: Random, path: Path) -> None:
    """Text that unpacks to very much, or that says something."""
    text = chance.choice([b"\0" * 60_000_000, b"<script>alert('attack')</script>", b"\x1b[2J" * 1000])
    path.write_bytes(_png(64, 48, _chunk(b"zTXt", b"Comment\0\0" + zlib.compress(text)), _rows(64, 48)))


def _rows(width: int, height: int) -> bytes:
    return _chunk(b"IDAT", zlib.compress(b"".join(b"\0" + b"\x80" * 3 * width for _ in range(height))))


def _no_file(chance: Random, path: Path) -> None:
    kind = chance.choice(["pipe", "folder", "zero", "loop", "nothing", "secret"])
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind != "nothing":
        path.symlink_to({"zero": "/dev/zero", "loop": path.name, "secret": "notes.txt"}[kind])


def _numbers(chance: Random, path: Path) -> None:
    """More than eight bits a channel, floating point, one pixel."""
    values = np.random.default_rng(chance.randrange(1000)).random((48, 64))
    kinds = [
        lambda: _saved("PNG", Image.fromarray((values * 65_535).astype(np.uint16))),
        lambda: _saved("TIFF", Image.fromarray(values.astype(np.float32))),
        lambda: _saved("PNG", Image.new("RGBA", (64, 48), (0, 0, 0, 0))),
        lambda: _saved("PNG", Image.new("1", (64, 48))),
        lambda: _saved("PNG", Image.new("RGB", (1, 1))),
        lambda: _saved("JPEG", Image.new("CMYK", (64, 48))),
    ]
    path.write_bytes(chance.choice(kinds)())


def _exif(chance: Random, path: Path) -> None:
    """Where a picture says which way is up."""
    image, exif = Image.new("RGB", (64, 48)), Image.Exif()
    exif[0x0112] = chance.choice([0, 3, 6, 8, 9, 255])
    file = io.BytesIO()
    image.save(file, "JPEG", exif=exif.tobytes() + chance.randbytes(chance.randrange(200)))
    path.write_bytes(file.getvalue())


def _noise(chance: Random, path: Path) -> None:
    head = chance.choice([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"RIFF\x10\0\0\0WEBP", b"GIF89a"])
    path.write_bytes(head + chance.randbytes(chance.choice([0, 10, 5_000])))


PICTURES: dict[str, Callable[[Random, Path], None]] = {
    "another format": _other_format,
    "a script": _script,
    "flipped bytes": _flipped,
    "very many pixels": _large,
    "words in it": _words,
    "no file": _no_file,
    "odd numbers": _numbers,
    "odd orientation": _exif,
    "noise": _noise,
    "flipped bytes again": _flipped,
}
