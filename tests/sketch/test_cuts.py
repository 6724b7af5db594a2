"""What is cut out with a thing, and what is not."""

import torch
from torch import Tensor

from physplan.graph import motion
from physplan.sketch.alignment import slip
from physplan.sketch.cuts import cut_out, halo, parts_alike
from physplan.sketch.pixels import without_specks
from physplan.sketch.scene import Change

SIZE = 50


def block(top: int, left: int, side: int = 10) -> Tensor:
    mask = torch.zeros(SIZE, SIZE, dtype=torch.bool)
    mask[top : top + side, left : left + side] = True
    return mask


def test_a_part_of_another_colour_is_another_thing() -> None:
    own, other = block(5, 5), block(30, 30)
    first, later = torch.zeros(3, SIZE, SIZE), torch.zeros(3, SIZE, SIZE)
    first[0, own] = 1.0
    later[0, block(5, 20)] = 0.9
    later[2, other] = 1.0
    found = parts_alike(cut_out(first, own), later, block(5, 20) | other)
    assert torch.equal(found, block(5, 20))
    assert not parts_alike(cut_out(first, own), later, other).any()


def test_a_shadow_differs_by_more_than_the_whole_picture_does() -> None:
    mask, nobody = block(20, 20), torch.zeros(SIZE, SIZE, dtype=torch.bool)
    empty = torch.full((3, SIZE, SIZE), 0.5)
    picture = empty - 0.1 * block(20, 30, 4)
    assert halo(picture, mask, empty, nobody)[20, 32]
    assert not halo(picture, mask, empty, nobody, 0.2)[20, 32]


def test_slip_is_what_differs_where_nothing_should() -> None:
    first = torch.full((3, SIZE, SIZE), 0.5)
    everywhere = torch.ones(SIZE, SIZE, dtype=torch.bool)
    assert slip(first, first, everywhere) == 0
    assert slip(first, first + 0.1, everywhere) > 0.09
    assert slip(first, first + block(0, 0, 5), everywhere) == 0  # one odd thing is no slip
    assert slip(first, first + 0.1, ~everywhere) == 0


def test_what_is_only_shifted_keeps_its_shape() -> None:
    raised = Change(event=0, keys=frozenset({"configuration"}))
    assert raised.rigid_by(motion("ball#1", "linear"))
    assert not raised.rigid_by(motion("ball#1", "tip"))
    assert not raised.rigid_by(motion("ball#1", "fade"))
    assert not Change(event=0, keys=frozenset({"extent"})).rigid_by(motion("ball#1", "linear"))
    assert Change(event=0, moves=True).rigid_by(motion("ball#1", "swing"))


def test_a_little_part_far_from_its_object_is_another_thing_and_one_nearby_is_not() -> None:
    mask = torch.zeros(96, 96, dtype=torch.bool)
    mask[40:60, 60:70] = True
    near, far = mask.clone(), mask.clone()
    near[40:45, 74:80] = True  # cut off by a post
    far[40:45, 10:16] = True  # a gleam that the segmenter takes for a piece of it
    assert torch.equal(without_specks(near, 0.03), near)
    assert torch.equal(without_specks(far, 0.03), mask)
