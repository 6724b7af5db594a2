"""Video files: mp4 for everyone, lossless for measurement, GIF for pages, PNG frames for editors.

The kind is chosen by the path: `.mp4`, `.mkv` (lossless), `.gif`, or a folder (no suffix) of PNG frames. All
are written atomically, carry the run's metadata and read back with the same number of frames and fps.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from physplan import __version__
from physplan.errors import PhysPlanError
from physplan.files import TEMPORARY, atomic_path, sync_folder
from physplan.foreign import read_file
from physplan.pictures import open_picture
from physplan.video.gif import add_comment, read_comment, with_palette
from physplan.video.marks import DIGITAL_SOURCE_TYPE, MADE_BY_A_MODEL, add_xmp, xmp_packet
from physplan.video.untrusted_video import MAX_FRAMES, decode, open_video, tags_of

MAX_PIXELS = 300_000_000  # of a whole video: as floating point numbers they take 3.6 GB
FRAMES_INDEX = "frames.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class Video:
    frames: Tensor  # [F, 3, H, W] in [0, 1]
    fps: float
    metadata: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)  # what else the file says, by names in small letters


def run_metadata(*, seed: int, preset: str, **more: Any) -> dict[str, Any]:
    """What a video file says about how it was made."""
    from importlib.metadata import version

    versions = {name: version(name) for name in ("physplan", "torch", "diffusers")}
    return {"seed": seed, "preset": preset, "versions": versions, **more}


def write_video(
    path: Path,
    frames: Tensor,
    *,
    fps: float,
    lossless: bool = False,
    metadata: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
) -> None:
    """Frames [F, 3, H, W] in [0, 1] to a file whose kind the path's suffix names, marked as made by a model.

    `tags` are further texts by name; a GIF and a folder have no room for them.
    """
    if frames.ndim != 4 or frames.shape[1] != 3 or len(frames) == 0:
        raise PhysPlanError(f"A video needs frames [F, 3, H, W], not {list(frames.shape)}.")
    pixels = to_bytes(frames)
    comment = json.dumps({"fps": fps, **(metadata or {})}, ensure_ascii=False)
    tags = {"comment": comment, DIGITAL_SOURCE_TYPE: MADE_BY_A_MODEL, **(tags or {})}
    kind = Path(path).suffix.lower()
    if kind == "":
        _write_folder(Path(path), pixels, comment)
    elif kind == ".gif":
        _encode(path, pixels, fps, tags, codec="gif", pixel_format="pal8", options={})
    elif kind == ".mkv" or (kind == ".mp4" and lossless):
        options = {"qp": "0", "preset": "veryfast"}
        _encode(path, pixels, fps, tags, codec="libx264rgb", pixel_format="rgb24", options=options)
    elif kind == ".mp4":
        # Without mbtree: it reads uninitialised memory, so equal frames gave unequal bytes.
        options = {"crf": "17", "preset": "medium", "mbtree": "0"}
        _encode(path, pixels, fps, tags, codec="libx264", pixel_format="yuv420p", options=options)
    else:
        raise PhysPlanError(f"{path}: use .mp4, .mkv (lossless), .gif, or a folder for PNG frames.")


def to_bytes(frames: Tensor) -> Tensor:
    """Frames [F, 3, H, W] in [0, 1] as bytes on the CPU, one by one: all at once would be three copies."""
    return torch.stack([(one.detach().clamp(0, 1) * 255).round().to("cpu", torch.uint8) for one in frames])


def read_video(path: Path) -> Video:
    """A video file or a folder of PNG frames, whole."""
    path = Path(path)
    if path.is_dir():
        return _read_folder(path)
    with open_video(path) as container:
        stream = container.streams.video[0]
        pixels = [frame.to_ndarray(format="rgb24") for frame in decode(container, path, pixels=MAX_PIXELS)]
        tags = tags_of(container)
        metadata = _parse(tags.pop("comment", "") or read_comment(path))
        rate = stream.average_rate or stream.guessed_rate
    if not pixels or any(frame.shape != pixels[0].shape for frame in pixels):
        raise PhysPlanError(f"{path} holds no frames, or frames of several sizes: make it again.")
    fps = _rate(metadata.pop("fps", None), float(rate or 0))
    frames = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2).float().div_(255)
    return Video(frames=frames, fps=fps, metadata=metadata, tags=tags)


def _encode(
    path: Path,
    pixels: Tensor,
    fps: float,
    tags: Mapping[str, str],
    *,
    codec: str,
    pixel_format: str,
    options: dict[str, str],
) -> None:
    import av

    if pixel_format == "yuv420p":  # colour is kept per 2x2 pixels: repeat the last row or column of odd sizes
        odd = [side % 2 for side in pixels.shape[-2:]]
        if any(odd):
            pixels = F.pad(pixels.float(), (0, odd[1], 0, odd[0]), mode="replicate").to(torch.uint8)
    height, width = pixels.shape[-2:]
    rate = Fraction(fps).limit_denominator(1001)
    # The index goes first in an mp4, so that browsers can start before they have it all.
    # A mkv would carry a random number and the time: the same video is the same bytes.
    mp4 = Path(path).suffix.lower() == ".mp4"
    start = {"movflags": "+faststart+use_metadata_tags"} if mp4 else {"fflags": "+bitexact"}
    with atomic_path(path) as temporary, av.open(str(temporary), "w", options=start) as container:
        container.metadata.update(tags)
        stream: Any = container.add_stream(codec, rate=rate, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        images = [av.VideoFrame.from_ndarray(p, format="rgb24") for p in pixels.permute(0, 2, 3, 1).numpy()]
        if pixel_format == "pal8":
            images = with_palette(images, width, height, rate)
        elif pixel_format == "yuv420p":
            images = to_yuv(stream, images)
        for index, image in enumerate(images):
            image.pts, image.time_base = index, 1 / rate
            container.mux(stream.encode(image))
        container.mux(stream.encode())
        container.close()
        if codec == "gif":
            add_comment(temporary, tags["comment"])
        elif mp4:
            add_xmp(temporary, xmp_packet(__version__))


def to_yuv(stream: Any, images: list[Any]) -> list[Any]:
    """The frames in BT.709, and the stream saying so: a player that guesses shows other colours."""
    from av.video.reformatter import Colorspace

    context = stream.codec_context
    context.colorspace = context.color_primaries = context.color_trc = context.color_range = 1
    return [image.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU709) for image in images]


def _write_folder(path: Path, pixels: Tensor, comment: str) -> None:
    """frame_0000.png, ... and frames.json; the folder appears whole or not at all."""
    if path.is_symlink() or (path.exists() and not _holds_only_frames(path)):
        raise PhysPlanError(f"{path} holds other files than frames: give a new folder for the frames.")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=path.parent))
    try:
        for index, frame in enumerate(pixels.permute(0, 2, 3, 1).numpy()):
            Image.fromarray(frame).save(temporary / f"frame_{index:04}.png")
        (temporary / FRAMES_INDEX).write_text(comment)
        temporary.chmod(0o755)
        if path.exists():
            shutil.rmtree(path)
        os.replace(temporary, path)
        sync_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _holds_only_frames(path: Path) -> bool:
    own = re.compile(rf"frame_\d+\.png|{re.escape(FRAMES_INDEX)}")
    return path.is_dir() and all(own.fullmatch(one.name) and one.is_file() for one in path.iterdir())


def _read_folder(path: Path) -> Video:
    files = sorted(path.glob("frame_*.png"))
    if not files or not (path / FRAMES_INDEX).exists():
        raise PhysPlanError(f"{path} holds no frames written by PhysPlan (frame_0000.png, {FRAMES_INDEX}).")
    pixels = np.stack(_pictures(path, files))
    metadata = _parse(read_file(path / FRAMES_INDEX, limit=1_000_000).decode("utf-8", "replace"))
    fps = _rate(metadata.pop("fps", None), 0.0)
    return Video(
        frames=torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255, fps=fps, metadata=metadata
    )


def _pictures(path: Path, files: list[Path]) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for file in files:
        found.append(np.asarray(open_picture(file, min_side=1)))
        if found[-1].shape != found[0].shape:
            raise PhysPlanError(f"{file} has another size than the first frame: make the frames again.")
        if len(found) * found[0].size > 3 * MAX_PIXELS or len(files) > MAX_FRAMES:
            raise PhysPlanError(
                f"{path} has more than {MAX_FRAMES} frames or {MAX_PIXELS // 10**6} megapixels in all: "
                "leave some out, or scale them down."
            )
    return found


def _rate(said: object, otherwise: float) -> float:
    """The frames per second that the comment gives, where it gives a sensible number."""
    return float(said) if isinstance(said, int | float) and 0 < said < 10_000 else otherwise


def _parse(comment: str | None) -> dict[str, Any]:
    """The metadata in a file's comment; a file of someone else has none."""
    try:
        value = json.loads(comment or "{}")
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
