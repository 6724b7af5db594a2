"""Pictures of unknown origin: what is not a PNG, JPEG or WebP of a sensible size is one sentence."""

from __future__ import annotations

import io
import os
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.pictures import open_picture, to_rgb

RAMP = np.linspace(0, 65_535, 64 * 64).reshape(64, 64).astype(np.uint16)


def written(image: Image.Image, kind: str) -> bytes:
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_the_content_decides_not_the_name(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.txt").write_bytes(written(Image.new("RGB", (40, 30), "red"), kind))
    image = open_picture(tmp_path / "a.txt")
    assert (image.mode, image.size) == ("RGB", (40, 30))


@pytest.mark.parametrize("kind", ["EPS", "GIF", "BMP", "TIFF", "PPM", "PDF", "ICO"])
def test_other_formats_are_refused_whatever_they_are_called(tmp_path: Path, kind: str) -> None:
    """Pillow gives an EPS to Ghostscript."""
    (tmp_path / "a.png").write_bytes(written(Image.new("RGB", (40, 30), "red"), kind))
    with pytest.raises(PhysPlanError, match="give a PNG, JPEG or WebP file"):
        open_picture(tmp_path / "a.png")


def test_sixteen_bits_are_scaled_not_cut_off(tmp_path: Path) -> None:
    Image.fromarray(RAMP).save(tmp_path / "deep.png")
    found = np.asarray(open_picture(tmp_path / "deep.png"))[..., 0]
    assert np.abs(found.astype(float) - RAMP / 257).max() <= 0.51
    assert 120 < found.mean() < 135, "neither white nor black"


def test_numbers_that_are_no_colours_are_refused() -> None:
    with pytest.raises(PhysPlanError, match="floating point"):
        to_rgb(Image.fromarray(np.ones((20, 20), np.float32)))
    with pytest.raises(PhysPlanError, match="beyond 16 bits"):
        to_rgb(Image.fromarray(np.full((20, 20), 70_000, np.int32)))


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for path in (tmp_path / "pipe.png", Path("/dev/zero")):
        with pytest.raises(PhysPlanError, match="not a regular file"):
            open_picture(path)
    with pytest.raises(PhysPlanError, match="is a folder"):
        open_picture(tmp_path)
    with pytest.raises(PhysPlanError, match="There is no image"):
        open_picture(tmp_path / "none.png")


def test_a_picture_on_which_bytes_are_changed_is_a_picture_or_a_sentence(tmp_path: Path) -> None:
    chance, path = random.Random(5), tmp_path / "a.png"
    whole = {kind: written(Image.effect_noise((64, 48), 60), kind) for kind in ("PNG", "JPEG", "WEBP")}
    refused = 0
    for number in range(120):
        damaged = bytearray(whole[chance.choice(list(whole))])
        for _ in range(chance.randint(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged if number % 3 else damaged[: chance.randrange(len(damaged))])
        try:
            assert open_picture(path).mode == "RGB"
        except PhysPlanError:
            refused += 1
    assert 0 < refused < 120
