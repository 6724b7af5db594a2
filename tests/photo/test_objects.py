"""Objects as one types them: boxes, clicks, names and folders of masks; what is wrong is one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from physplan.errors import PhysPlanError
from physplan_photo.objects import Box, Point, check_inside, parse_object, parse_objects, read_masks


def test_a_box_clicks_and_a_bare_name_are_told_apart() -> None:
    car = parse_object("car:120,80,420.5,300")
    assert (car.name, car.box) == ("car", Box(120, 80, 420.5, 300))
    cup = parse_object("blue cup@233,190@240,200!10,20")
    assert cup.name == "blue cup"
    assert cup.points == (Point(233, 190), Point(240, 200), Point(10, 20, inside=False))
    dog = parse_object(" dog ")
    assert (dog.name, dog.box, dog.points, dog.mask) == ("dog", None, (), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("car:1,2,3", "four numbers"),
        ("car:9,2,3,4", "is empty"),
        ("cup@12", "two numbers"),
        ("cup!1,2", "two numbers"),
        ("cup@1,2 and more", "two numbers"),
        (":1,2,3,4", "no name"),
        ("", "no name"),
        ("../cup@1,2", "no name"),
    ],
)
def test_what_cannot_be_read_is_said_with_the_three_ways_to_write_it(text: str, said: str) -> None:
    with pytest.raises(PhysPlanError, match=said):
        parse_object(text)


def test_two_objects_of_one_name_are_refused() -> None:
    with pytest.raises(PhysPlanError, match="Two objects are called 'cup'"):
        parse_objects(["cup@1,2", "Cup@3,4"])


@pytest.mark.parametrize("text", ["cup@640,10", "cup@-1,10", "cup:700,0,800,20"])
def test_a_prompt_beside_the_picture_is_refused_with_its_size(text: str) -> None:
    with pytest.raises(PhysPlanError, match="640 x 480"):
        check_inside(parse_object(text), (640, 480))


def test_masks_of_ones_own_are_read_by_name_and_must_fit(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match="no mask"):
        read_masks(tmp_path, (40, 30))
    pixels = np.zeros((30, 40), np.uint8)
    pixels[5:10, 20:30] = 255
    Image.fromarray(pixels).save(tmp_path / "blue_cup.png")
    (cup,) = read_masks(tmp_path, (40, 30))
    assert cup.name == "blue cup"
    assert cup.mask is not None
    assert cup.mask.sum() == 50
    with pytest.raises(PhysPlanError, match="photograph's size"):
        read_masks(tmp_path, (41, 30))
    Image.new("L", (40, 30)).save(tmp_path / "blue_cup.png")
    with pytest.raises(PhysPlanError, match="is empty"):
        read_masks(tmp_path, (40, 30))
