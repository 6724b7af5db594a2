"""Pictures of another shape: letterboxed, cropped, stretched, and undone."""

from __future__ import annotations

import pytest
import torch
from PIL import Image, ImageDraw

from physplan.pictures import to_tensor
from physplan.video.fit import Fit, fit_picture

MODES = ("letterbox", "crop", "stretch")


def scene(width: int, height: int) -> Image.Image:
    """A smooth picture whose corners differ, so that a shift, a flip or a wrong scale shows."""
    picture = Image.linear_gradient("L").resize((width, height))
    other = Image.linear_gradient("L").rotate(90).resize((width, height))
    merged = Image.merge("RGB", (picture, other, Image.new("L", (width, height), 128)))
    ImageDraw.Draw(merged).ellipse(
        (width * 0.4, height * 0.4, width * 0.6, height * 0.6), fill=(250, 250, 20)
    )
    return merged


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(320, 200), (200, 320), (101, 300), (96, 64)])
def test_the_choice_can_be_undone_on_the_output(mode: str, size: tuple[int, int]) -> None:
    picture = scene(*size)
    fitted, fit = fit_picture(picture, width=96, height=64, mode=mode)
    assert fitted.size == (96, 64)
    undone = fit.undo(to_tensor(fitted).expand(3, 3, 64, 96), picture)
    assert tuple(undone.shape) == (3, 3, fit.undone[1], fit.undone[0])
    assert fit.undone[0] / fit.undone[1] == pytest.approx(size[0] / size[1], rel=0.05)
    assert fit.undone[0] % 2 == fit.undone[1] % 2 == 0
    expected = to_tensor(picture.resize(fit.undone, Image.Resampling.LANCZOS))
    assert (undone - expected).abs().mean() < 0.02


def test_letterbox_shows_all_of_the_picture_between_black_bars() -> None:
    fitted, _ = fit_picture(Image.new("RGB", (200, 200), "white"), width=96, height=64, mode="letterbox")
    pixels = to_tensor(fitted)
    assert pixels[:, :, :16].max() == 0
    assert pixels[:, :, 16:80].min() > 0.99
    assert pixels[:, :, 80:].max() == 0


def test_what_was_cropped_stays_at_rest_and_the_middle_moves() -> None:
    picture = Image.new("RGB", (200, 100), "red")
    _, fit = fit_picture(picture, width=64, height=64, mode="crop")
    frames = torch.stack([torch.full((3, 64, 64), v) for v in (0.0, 1.0)])
    undone = fit.undo(frames, picture)
    assert tuple(undone.shape) == (2, 3, 64, 128)
    assert torch.equal(undone[0, :, :, :32], undone[1, :, :, :32])
    assert undone[1, :, :, 32:96].min() == 1
    assert undone[0, :, :, 32:96].max() == 0


def test_a_picture_of_the_right_shape_is_only_scaled() -> None:
    picture = scene(192, 128)
    fitted = [fit_picture(picture, width=96, height=64, mode=mode)[0] for mode in MODES]
    assert fitted[0].tobytes() == fitted[1].tobytes() == fitted[2].tobytes()
    assert Fit(mode="crop", source=(96, 64), target=(96, 64)).undone == (96, 64)
