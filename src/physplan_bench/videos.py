"""Reading video files for measurement: what they claim to be, and their frames one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from physplan.errors import PhysPlanError
from physplan.video.untrusted_video import decode, open_video

SUFFIXES = (".mp4", ".webm", ".mov", ".mkv")


@dataclass(frozen=True, kw_only=True)
class VideoInfo:
    fps: float
    seconds: float
    frames: int
    width: int
    height: int


def find_videos(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise PhysPlanError(f"There is no folder {folder} with videos.")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    if not paths:
        raise PhysPlanError(f"{folder} holds no video.")
    return paths


def probe(path: Path) -> VideoInfo:
    """The header of a video file."""
    with open_video(path) as container:
        stream = container.streams.video[0]
        fps = float(stream.average_rate or stream.guessed_rate or 0)
        if container.duration is not None:
            seconds = container.duration / 1e6
        else:
            seconds = float((stream.duration or 0) * stream.time_base)
        return VideoInfo(
            fps=fps,
            seconds=seconds,
            frames=stream.frames or round(seconds * fps),
            width=stream.width,
            height=stream.height,
        )


def read_frames(path: Path, limit: int | None = None) -> Iterator[np.ndarray]:
    """RGB frames (H, W, 3) uint8 in order, at most `limit`; only one is held in memory."""
    from av.video.reformatter import VideoReformatter

    reformatter = VideoReformatter()  # one for all, on one thread: starting threads costs more than the frame
    with open_video(path) as container:
        for frame in islice(decode(container, path), limit):
            yield reformatter.reformat(frame, format="rgb24", threads=1).to_ndarray()


def read_video(path: Path, limit: int | None = None) -> np.ndarray:
    """The whole video, (T, H, W, 3) uint8."""
    frames = list(read_frames(path, limit))
    if not frames:
        raise PhysPlanError(f"{path} holds no frame; make it again.")
    return np.stack(frames)
