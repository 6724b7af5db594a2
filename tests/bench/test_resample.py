"""Frames brought to a benchmark's rate and length, against hand calculation."""

from __future__ import annotations

import pytest
import torch

from physplan.errors import PhysPlanError
from physplan_bench.resample import pace, resample


def ramp(count: int, fps: float) -> torch.Tensor:
    """Each frame's value is its time in seconds."""
    return (torch.arange(count) / fps).reshape(count, 1, 1, 1).expand(count, 3, 2, 2)


@pytest.mark.parametrize(("fps", "wanted"), [(5, 8), (24, 8), (16, 30), (30, 8), (8, 8)])
def test_every_frame_shows_its_own_time(fps: int, wanted: int) -> None:
    video = resample(ramp(6 * fps, fps), fps, wanted)
    assert len(video) == 6 * wanted
    inside = int((6 - 1 / fps) * wanted)  # behind the last frame there is nothing to blend with
    times = torch.arange(inside) / wanted
    torch.testing.assert_close(video[:inside, 0, 0, 0], times)


def test_the_last_frame_is_held_to_the_end() -> None:
    video = resample(ramp(25, 5), 5, 8)
    assert len(video) == 40
    assert video[-1, 0, 0, 0] == pytest.approx(24 / 5)


@pytest.mark.parametrize(
    ("frames", "fps", "wanted", "expected"),
    [(49, 8, None, 40), (81, 16, None, 80), (81, 16, 8, 40), (161, 24, 30, 150), (25, 5, 8, 40)],
)
def test_the_first_five_seconds_are_kept(frames: int, fps: int, wanted: int | None, expected: int) -> None:
    video, rate = pace(ramp(frames, fps), fps, seconds=5, wanted_fps=wanted)
    assert (len(video), rate) == (expected, wanted or fps)
    assert video[20, 0, 0, 0] == pytest.approx(20 / rate)


def test_without_a_length_all_is_kept() -> None:
    assert len(pace(ramp(49, 8), 8)[0]) == 49
    assert len(pace(ramp(49, 8), 8, wanted_fps=16)[0]) == 98


def test_short_videos_and_broken_frames_are_refused() -> None:
    with pytest.raises(PhysPlanError, match=r"49 frames at 8 a second, 6\.12 s, but 7 s are wanted"):
        pace(ramp(49, 8), 8, seconds=7)
    with pytest.raises(PhysPlanError, match="no whole number of frames"):
        pace(ramp(49, 7.5), 7.5, seconds=5)
