"""From the frames that a model makes to the rate and length that a benchmark wants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from physplan.errors import PhysPlanError

if TYPE_CHECKING:
    from torch import Tensor


def check_length(frames: int, fps: float, *, seconds: float | None, wanted_fps: float | None = None) -> None:
    """Refuse a video that is too short, and a length that is no whole number of frames."""
    if wanted_fps is not None and not 1 <= wanted_fps <= 240:
        raise PhysPlanError(f"--fps {wanted_fps:g}: give a number of frames a second from 1 to 240.")
    if seconds is None:
        return
    rate = wanted_fps or fps
    if abs(seconds * rate - round(seconds * rate)) > 1e-6:
        raise PhysPlanError(
            f"{seconds:g} s at {rate:g} frames a second are no whole number of frames: choose another rate "
            "with --fps."
        )
    if frames < seconds * fps - 1e-6:
        slower = math.floor(frames / seconds)
        raise PhysPlanError(
            f"The model makes {frames} frames at {fps:g} a second, {frames / fps:.2f} s, but {seconds:g} s "
            f"are wanted: ask for {math.ceil(seconds * fps)} frames or more (--set video.num_frames=N), or, "
            f"if it cannot make them, for slower ones (--set video.fps={slower} --fps {fps:g})."
        )


def pace(
    video: Tensor, fps: float, *, seconds: float | None = None, wanted_fps: float | None = None
) -> tuple[Tensor, float]:
    """The first seconds of frames [F, ...] at the wanted rate; None keeps all of them, or their own rate."""
    check_length(len(video), fps, seconds=seconds, wanted_fps=wanted_fps)
    rate = wanted_fps or fps
    if seconds is None:
        return resample(video, fps, rate), rate
    beginning = video[: math.ceil(seconds * fps) + 1]  # one more, to blend the last frame with
    return resample(beginning, fps, rate)[: round(seconds * rate)], rate


def resample(video: Tensor, fps: float, wanted_fps: float) -> Tensor:
    """Each frame a blend of its two neighbours in time, as Physics-IQ's own tool makes its real videos."""
    import torch

    if fps == wanted_fps:
        return video
    last = len(video) - 1
    count = math.floor(len(video) / fps * wanted_fps + 1e-6)
    places = (torch.arange(count, dtype=torch.float64) * (fps / wanted_fps)).clamp(max=last)
    before = places.floor().long()
    share = (places - before).to(video.dtype).reshape(-1, *[1] * (video.ndim - 1))
    return torch.lerp(video[before], video[(before + 1).clamp(max=last)], share)
