"""Small videos are drawn larger for people."""

from __future__ import annotations

import torch

from physplan.video.upscale import to_watch


def test_a_small_video_is_enlarged_by_a_whole_number():
    assert to_watch(torch.rand(2, 3, 96, 96)).shape == (2, 3, 384, 384)
    assert to_watch(torch.rand(2, 3, 100, 150)).shape == (2, 3, 400, 600)


def test_a_large_video_is_left_alone():
    frames = torch.rand(1, 3, 480, 720)
    assert to_watch(frames) is frames


def test_enlarging_invents_no_brightness():
    step = torch.zeros(1, 3, 96, 96)
    step[..., 48:] = 1.0
    large = to_watch(step)
    assert large.min() == 0
    assert large.max() == 1
