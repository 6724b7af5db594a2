"""Equation 2 and its corner cases."""

from __future__ import annotations

import math

import pytest

from physplan.graph import TimingError, anchors, rescale


def test_the_papers_example() -> None:
    assert anchors([0.30, 0.30, 0.25], 49) == (14, 29, 41)


def test_halves_round_up() -> None:
    assert anchors([0.5], 2) == (1,)
    assert anchors([0.125, 0.25], 5) == (1, 2)  # 0.5 and 1.5


def test_fractions_below_one_are_kept() -> None:
    assert rescale([0.3, 0.6]) == (0.3, 0.6)


@pytest.mark.parametrize("fractions", [[0.5, 0.5], [0.9, 0.9], [0.1] * 10])
def test_fractions_that_fill_the_video_are_rescaled_to_nine_tenths(fractions: list[float]) -> None:
    assert math.fsum(rescale(fractions)) == pytest.approx(0.9)
    assert anchors(fractions, 101)[-1] == 90


def test_equal_anchors_move_on_by_one_frame() -> None:
    assert anchors([0.5, 0.001, 0.001], 49) == (24, 25, 26)


def test_an_anchor_never_falls_on_the_first_frame() -> None:
    assert anchors([0.001, 0.5], 49) == (1, 24)


def test_where_the_end_leaves_no_room_earlier_anchors_move_back() -> None:
    assert anchors([0.97, 0.01, 0.01], 9) == (6, 7, 8)
    assert anchors([0.3, 0.3, 0.25], 4) == (1, 2, 3)


def test_too_few_frames_is_an_error_that_says_so() -> None:
    with pytest.raises(TimingError, match=r"3 frames are too few for 3 events.*at least 4 frames"):
        anchors([0.3, 0.3, 0.25], 3)
    with pytest.raises(TimingError, match="1 frames are too few"):
        anchors([0.3], 1)


@pytest.mark.parametrize("bad", [0.0, -0.1, math.nan, math.inf])
def test_a_fraction_that_is_no_share_is_refused(bad: float) -> None:
    with pytest.raises(TimingError, match="not a positive number"):
        anchors([0.3, bad], 49)
