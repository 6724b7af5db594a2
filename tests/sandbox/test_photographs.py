"""A photograph in the sandbox is named as one before anything is loaded; no drawn scene is."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest
from matplotlib import cbook
from PIL import Image, ImageFilter

from physplan.cli import main
from physplan_sandbox.photographs import IsAPhotograph, can_be_a_scene, check_picture
from physplan_sandbox.samples import first_frame, names, sample
from physplan_sandbox.world.phenomena import scene

PHOTOS = {
    "coffee": Path(__file__).parents[1] / "pipeline" / "coffee.jpg",
    "portrait": Path(cbook._get_data_path("sample_data", "grace_hopper.jpg")),
}


def photo(name: str) -> Image.Image:
    return Image.open(PHOTOS[name]).convert("RGB")


@pytest.mark.parametrize("name", list(names()))
def test_every_sample_can_be_a_scene_also_enlarged_and_as_jpeg(name: str) -> None:
    drawn = first_frame(sample(name))
    encoded = io.BytesIO()
    drawn.resize((384, 384), Image.Resampling.LANCZOS).save(encoded, "JPEG", quality=80)
    for picture in (drawn, drawn.resize((384, 384)), Image.open(encoded)):
        check_picture(picture)


def test_no_scene_of_the_validation_set_is_refused() -> None:
    for number in range(60):
        frame = scene("validation", number).render(only=[0]).frames[0]
        assert can_be_a_scene(Image.fromarray(frame)), number


@pytest.mark.parametrize("number", [3497, 4211])
def test_a_scene_full_of_things_is_no_photograph(number: int) -> None:
    """Their rows have the least of one colour among some 900 scenes: 0.54."""
    frame = scene("test", number).render(only=[0]).frames[0]
    assert can_be_a_scene(Image.fromarray(frame))


@pytest.mark.parametrize("name", list(PHOTOS))
def test_a_photograph_is_refused_with_the_command_for_it(name: str) -> None:
    with pytest.raises(IsAPhotograph, match="physplan photo"):
        check_picture(photo(name).filter(ImageFilter.GaussianBlur(1)))


def test_the_command_answers_in_under_three_seconds(tmp_path: Path) -> None:
    photo("coffee").save(tmp_path / "photo.jpg")
    code = (
        "import sys, time; from physplan.cli import main\n"
        "code = main(['generate', '--image', 'photo.jpg', '--prompt', 'the rocket rises'])\n"
        "assert code == 2 and 'torch' not in sys.modules\n"
        "assert time.process_time() < 3, time.process_time()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "physplan photo" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


def test_plan_answers_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photo("coffee").save(tmp_path / "photo.jpg")
    begun = time.monotonic()
    arguments = ["--image", str(tmp_path / "photo.jpg"), "--prompt", "an ice cube melting in the sun"]
    assert main(["plan", *arguments, "-o", str(tmp_path / "plan.json")]) == 2
    assert "physplan photo" in capsys.readouterr().err
    assert time.monotonic() - begun < 60
