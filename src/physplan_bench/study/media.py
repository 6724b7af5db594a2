"""Videos as participants get them: playable in every browser, and without a word about who made them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.files import atomic_path
from physplan_bench.videos import probe, read_frames

PLAYABLE = ("h264", "yuv420p")  # codec and pixels that every browser shows
QUALITY = {"crf": "10", "preset": "fast"}  # where a video must be re-encoded: no visible loss


def copy_video(source: Path, target: Path) -> bool:
    """The same pictures without names, comments and dates; true where they had to be re-encoded."""
    if _encoding(source) == PLAYABLE:
        _repack(source, target)
        return False
    info = probe(source)
    frames = [_even(frame) for frame in read_frames(source)]
    if not frames:
        raise PhysPlanError(f"{source} holds no frame; make it again.")
    _encode(target, frames, info.fps)
    return True


def first_frame(source: Path, target: Path) -> None:
    """Of a picture or of a video, as JPEG: nothing of the file's own notes stays."""
    if source.suffix.lower() == ".png":
        from physplan.pictures import open_picture

        image = open_picture(source, min_side=1)
    else:
        frame = next(read_frames(source, limit=1), None)
        if frame is None:
            raise PhysPlanError(f"{source} holds no frame; make it again.")
        image = Image.fromarray(frame)
    with atomic_path(target) as temporary:
        image.convert("RGB").save(temporary, "JPEG", quality=92, subsampling=0)


def damage(source: Path, target: Path, *, seed: int = 0) -> None:
    """A version that is worse in every respect, for attention checks: blocks, noise, frames out of order."""
    rng = np.random.default_rng(seed)
    frames = [_even(frame) for frame in read_frames(source)]
    if not frames:
        raise PhysPlanError(f"{source} holds no frame; make it again.")
    random.Random(seed).shuffle(frames)
    block = max(min(frames[0].shape[:2]) // 12, 2)
    broken = []
    for frame in frames:
        coarse = frame[::block, ::block].repeat(block, 0).repeat(block, 1)
        coarse = coarse[: frame.shape[0], : frame.shape[1]]
        noise = rng.normal(rng.uniform(-30, 30), 25, coarse.shape)
        broken.append(np.clip(coarse + noise, 0, 255).astype(np.uint8))
    _encode(target, broken, probe(source).fps)


def _encoding(path: Path) -> tuple[str, str]:
    import av

    probe(path)  # says in a sentence what is wrong with the file
    with av.open(str(path)) as container:
        context = container.streams.video[0].codec_context
        return context.name, context.pix_fmt or ""


def _repack(source: Path, target: Path) -> None:
    import av

    try:
        with (
            atomic_path(target) as temporary,
            av.open(str(source)) as given,
            av.open(str(temporary), "w", format="mp4", options={"movflags": "+faststart"}) as packed,
        ):
            theirs = given.streams.video[0]
            ours = packed.add_stream_from_template(theirs)
            ours.metadata.clear()
            for packet in given.demux(theirs):
                if packet.dts is not None:
                    packet.stream = ours
                    packed.mux(packet)
    except av.FFmpegError as error:
        raise PhysPlanError(f"{source} breaks off while it is read ({error}); make it again.") from error


def _encode(target: Path, frames: list[np.ndarray], fps: float) -> None:
    from fractions import Fraction

    import av

    with (
        atomic_path(target) as temporary,
        av.open(str(temporary), "w", format="mp4", options={"movflags": "+faststart"}) as container,
    ):
        stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1001) or Fraction(8))
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = PLAYABLE[1]
        stream.options = dict(QUALITY)
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())


def _even(frame: np.ndarray) -> np.ndarray:
    """Half as many colour pixels need even sides."""
    return np.ascontiguousarray(frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2])
