"""What stands half hidden is drawn whole once it comes out, and only where a picture shows the whole."""

from __future__ import annotations

from dataclasses import replace

import torch
from sketch_scenes import COLOURS, area, chain_of, evidence, seen

from physplan.graph import Edge, Unlink, motion
from physplan.perception import Evidence
from physplan.sketch import make_sketch
from physplan.sketch.whole import shifted

NEAR = {"ball#1": 0.4, "ball#2": 0.4, "vase#3": 0.8}
VASE = (26, 36, 38, 58)
BEHIND = Edge("vase#3", "in front of", "ball#1")
WHOLE = 100  # pixels of a ball


def comes_out(*, twin: bool, fragment: bool) -> tuple[Evidence, list[int]]:
    """A ball of 10 x 10, of which 4 columns are seen beside a vase, rolls out of its hiding place."""
    nodes = ["ball#1", *(["ball#2"] if twin else []), "vase#3"]
    chain = chain_of(
        nodes,
        (["ball#1"], [Unlink("vase#3", "in front of", "ball#1")], [motion("ball#1", "linear")]),
        edges=[BEHIND],
    )
    others = {"vase#3": VASE} | ({"ball#2": (4, 40, 14, 50)} if twin else {})
    first = seen({"ball#1": (32, 40, 42, 50), **others}, NEAR)
    left = 52 if fragment else 46
    found = evidence(first, seen({"ball#1": (left, 40, 56, 50), **others}, NEAR))
    own = WHOLE if twin else 0
    return found, [area(frame, COLOURS["ball"]) - own for frame in make_sketch(chain, found).frames]


def test_its_own_kind_shows_the_rest_where_the_keyframe_has_a_fragment() -> None:
    found, shown = comes_out(twin=True, fragment=True)
    assert int(found.keyframes[0].masks["ball#1"].sum()) == 40
    assert abs(shown[0] - 40) <= 2
    assert shown[-1] > 0.9 * WHOLE


def test_the_keyframe_shows_the_rest_where_there_is_no_other_of_its_kind() -> None:
    _, shown = comes_out(twin=False, fragment=False)
    assert shown[-1] > 0.9 * WHOLE


def test_without_a_picture_of_the_whole_the_part_stays_a_part() -> None:
    _, shown = comes_out(twin=False, fragment=True)
    assert abs(shown[-1] - 40) <= 8


def test_another_colour_is_not_its_own_kind() -> None:
    found, _ = comes_out(twin=True, fragment=True)
    image = found.first.image.clone()
    image[:, found.first.masks["ball#2"]] = torch.tensor(COLOURS["pool"])[:, None]
    blue = replace(found, first=replace(found.first, image=image))
    chain = chain_of(
        ["ball#1", "ball#2", "vase#3"],
        (["ball#1"], [Unlink("vase#3", "in front of", "ball#1")], [motion("ball#1", "linear")]),
        edges=[BEHIND],
    )
    assert area(make_sketch(chain, blue).frames[-1], COLOURS["ball"]) < 50


def test_a_shift_brings_nothing_in_from_the_other_side() -> None:
    picture = torch.arange(12.0).reshape(1, 3, 4)
    assert torch.equal(shifted(picture, 1, 0)[0, :, 0], torch.zeros(3))
    assert torch.equal(shifted(picture, -1, -2)[0, 0], torch.tensor([9.0, 10.0, 11.0, 0.0]))
    assert torch.equal(shifted(picture, 0, 0), picture)
