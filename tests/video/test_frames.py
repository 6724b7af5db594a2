"""Which latent covers a frame, and which window shows it (what must be true, 2: the arithmetic)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from physplan.errors import PhysPlanError
from physplan.video.frames import FrameLayout

COG = FrameLayout(num_frames=49, ratio=4)


def test_frames_and_latents_are_paired_as_in_the_paper() -> None:
    assert COG.num_latents == 13
    assert [COG.latent_index(f) for f in (0, 1, 4, 5, 8, 9, 48)] == [0, 1, 1, 2, 2, 3, 12]


def test_padding_moves_latents_back_but_frames_stay() -> None:
    padded = FrameLayout(num_frames=81, ratio=4, padding=1)
    assert padded.num_latents == 22
    assert padded.latent_index(0) == 1
    window = padded.window(40)
    assert (window.latents, window.index) == (slice(9, 12), 40 - 4 * 8)


@pytest.mark.parametrize(
    ("frame", "latents", "index"),
    [
        (0, slice(0, 3), 0),
        (4, slice(0, 3), 4),
        (12, slice(1, 4), 8),
        (13, slice(2, 5), 5),
        (48, slice(10, 13), 8),
    ],
)
def test_a_trailing_window_ends_at_the_frames_latent(frame: int, latents: slice, index: int) -> None:
    window = COG.window(frame)
    assert (window.latents, window.index) == (latents, index)


def test_a_centred_window_is_moved_inwards_at_the_end() -> None:
    assert COG.window(24, 3, "centred").latents == slice(5, 8)
    assert COG.window(48, 3, "centred").latents == slice(10, 13)


@given(
    groups=st.integers(1, 12),
    ratio=st.sampled_from([1, 4, 8]),
    padding=st.integers(0, 1),
    length=st.integers(2, 7),
    mode=st.sampled_from(["trailing", "centred"]),
    data=st.data(),
)
def test_every_frame_is_inside_its_window(groups, ratio, padding, length, mode, data) -> None:
    layout = FrameLayout(num_frames=groups * ratio + 1, ratio=ratio, padding=padding)
    frame = data.draw(st.integers(0, layout.num_frames - 1))
    window = layout.window(frame, length, mode)
    start, own = window.latents.start, layout.latent_index(frame)
    assert padding <= start <= own < window.latents.stop <= layout.num_latents
    assert window.length == min(length, layout.num_latents - padding)
    # The clip's first latent gives one frame, so the wanted one must not lie in that latent's lost group.
    assert 0 <= window.index < 1 + ratio * (window.length - 1)
    assert (start - padding) * ratio + window.index == frame


def test_a_frame_outside_the_video_is_refused() -> None:
    with pytest.raises(PhysPlanError, match=r"Frame 49 .* from 0 to 48"):
        COG.latent_index(49)


def test_a_window_of_one_latent_is_refused_where_it_cannot_show_every_frame() -> None:
    with pytest.raises(PhysPlanError, match="at least 2"):
        COG.window(7, 1)
    assert FrameLayout(num_frames=9, ratio=1).window(7, 1).latents == slice(7, 8)
