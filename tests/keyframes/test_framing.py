from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from physplan.keyframes.framing import cut_out, fit, nearest_ratio, pad_to_ratio, size_of_area
from physplan_models.keyframes.gemini import RATIOS

sides = st.integers(16, 200)


@pytest.mark.parametrize(
    ("size", "ratio"),
    [
        ((720, 480), "3:2"),
        ((480, 720), "2:3"),
        ((512, 512), "1:1"),
        ((1920, 1080), "16:9"),
        ((900, 300), "21:9"),
    ],
)
def test_the_nearest_shape_is_chosen(size: tuple[int, int], ratio: str) -> None:
    assert nearest_ratio(size, RATIOS) == ratio


@given(width=sides, height=sides)
@settings(max_examples=40, deadline=None)
def test_padding_has_the_shape_and_cutting_out_undoes_it(width: int, height: int) -> None:
    pixels = np.random.default_rng(width * height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    image = Image.fromarray(pixels)
    ratio = nearest_ratio(image.size, RATIOS)
    padded, place = pad_to_ratio(image, ratio)
    across, down = map(int, ratio.split(":"))
    assert abs(padded.width * down - padded.height * across) <= max(across, down)
    back = np.asarray(cut_out(padded, place, image.size)).astype(int)
    assert np.abs(back - pixels).max() <= 1


def test_a_picture_of_the_same_shape_but_for_rounding_loses_nothing() -> None:
    image = Image.fromarray(np.full((83, 125, 3), 9, dtype=np.uint8))
    image.paste((200, 0, 0), (0, 0, 125, 4))
    assert np.asarray(fit(image, (72, 48)))[0, 36, 0] > 150


@given(width=sides, height=sides, other=st.tuples(sides, sides))
@settings(max_examples=40, deadline=None)
def test_a_fitted_picture_is_neither_stretched_nor_of_another_size(
    width: int, height: int, other: tuple[int, int]
) -> None:
    ramp = np.broadcast_to(np.linspace(0, 255, width)[None, :, None], (height, width, 3)).astype(np.uint8)
    fitted = fit(Image.fromarray(np.ascontiguousarray(ramp)), other)
    assert fitted.size == other
    middle = np.asarray(fitted)[other[1] // 2, other[0] // 2, 0]
    assert abs(int(middle) - 127) <= 255 / min(width, other[0]) + 3


def test_a_size_of_an_area_keeps_the_shape_in_whole_patches() -> None:
    assert size_of_area((720, 480), 1024**2, 16) == (1248, 832)
    width, height = size_of_area((50, 400), 256, 16)
    assert (width % 16, height % 16) == (0, 0)
    assert min(width, height) >= 16
