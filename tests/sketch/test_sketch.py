"""The sketch: exact where nothing happens, lawful where something does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sketch_scenes import (
    COLOURS,
    SIZE,
    area,
    background,
    centre,
    chain_of,
    evidence,
    mask_of,
    seen,
)

from physplan.graph import Consume, Edge, Link, Spawn, Unlink, Update, motion
from physplan.sketch import make_sketch
from physplan.sketch.alignment import find_shift, matched_tones
from physplan.sketch.compose import aligned_evidence
from physplan.sketch.cuts import rigid_shift
from physplan.sketch.pixels import fill, placed
from physplan.sketch.scene import changes

FALL = (Unlink("ball#1", "above", "post#2"), Link("post#2", "support", "ball#1"))
ABOVE = (Edge("ball#1", "above", "post#2"),)
NEAR = {"ball#1": 0.6, "post#2": 0.3, "vase#3": 0.9, "pool#4": 0.5}
BEFORE = {"ball#1": (10, 6, 20, 16), "post#2": (8, 44, 30, 60), "vase#3": (44, 36, 54, 58)}
AFTER = {**BEFORE, "ball#1": (10, 34, 20, 44)}


def falling(law: str = "accelerating", **given: float):
    chain = chain_of(
        ["ball#1", "post#2", "vase#3"],
        (["ball#1"], FALL, [motion("ball#1", law, **given)]),
        edges=ABOVE,
    )
    return chain, evidence(seen(BEFORE, NEAR), seen(AFTER, NEAR))


def test_the_first_frame_is_the_given_one_to_the_bit() -> None:
    chain, found = falling()
    assert torch.equal(make_sketch(chain, found).frames[0], found.first.image)


def test_the_last_frames_show_the_last_state() -> None:
    chain, found = falling()
    sketch = make_sketch(chain, found)
    for frame in (chain.anchors[-1], chain.num_frames - 1):
        assert (sketch.frames[frame] - found.keyframes[0].image).abs().max() < 0.02


def test_what_moves_follows_its_law() -> None:
    chain, found = falling()
    frames = make_sketch(chain, found).frames
    last = chain.anchors[-1]
    for frame in range(last + 1):
        x, y = centre(frames[frame], COLOURS["ball"])
        assert x == pytest.approx(15, abs=0.6)
        assert y == pytest.approx(11 + 28 * (frame / last) ** 2, abs=0.8)


def test_nothing_is_left_where_it_was_and_bystanders_are_the_first_frames() -> None:
    chain, found = falling()
    sketch = make_sketch(chain, found)
    old = mask_of(BEFORE["ball#1"])
    assert (sketch.frames[-1] - background())[:, old].abs().max() < 0.05
    for id in ("post#2", "vase#3"):
        kept = found.first.masks[id]
        assert torch.equal(sketch.frames[:, :, kept], found.first.image[:, kept].expand(17, -1, -1))
    assert sketch.kept[0][found.first.masks["vase#3"]].all()


def test_a_sketch_is_the_same_every_time() -> None:
    one, two = (make_sketch(*falling()) for _ in range(2))
    assert torch.equal(one.frames, two.frames)
    assert torch.equal(one.masks, two.masks)
    assert one.orders == two.orders


def test_masks_hold_all_that_is_not_the_first_frame() -> None:
    chain, found = falling()
    sketch = make_sketch(chain, found)
    changed = (sketch.frames - found.first.image).abs().amax(1) > 0.02
    assert (sketch.masks[:, 0] | ~changed).all()
    assert float(sketch.masks.float().mean()) < 0.2
    assert not (sketch.masks[:, 0] & found.first.masks["vase#3"]).any()


def test_a_thing_passes_behind_what_is_nearer() -> None:
    chain = chain_of(
        ["ball#1", "vase#3"],
        (["ball#1"], [Link("vase#3", "left of", "ball#1")], [motion("ball#1", "linear")]),
    )
    places = {"ball#1": (8, 40, 18, 50), "vase#3": (26, 36, 38, 58)}
    found = evidence(seen(places, NEAR), seen({**places, "ball#1": (50, 40, 60, 50)}, NEAR))
    sketch = make_sketch(chain, found)
    vase = found.first.masks["vase#3"]
    assert torch.equal(sketch.frames[:, :, vase], found.first.image[:, vase].expand(17, -1, -1))
    assert sketch.orders[0].index("ball#1") < sketch.orders[0].index("vase#3")
    shown = [area(frame, COLOURS["ball"]) for frame in sketch.frames]
    assert min(shown) < 0.5 * shown[0]


def test_a_thing_passes_before_what_is_farther() -> None:
    chain = chain_of(
        ["ball#1", "vase#3"],
        (["ball#1"], [Link("vase#3", "left of", "ball#1")], [motion("ball#1", "linear")]),
    )
    places = {"ball#1": (8, 40, 18, 50), "vase#3": (26, 36, 38, 58)}
    near = {**NEAR, "ball#1": 0.95}
    found = evidence(seen(places, near), seen({**places, "ball#1": (50, 40, 60, 50)}, near))
    shown = [area(frame, COLOURS["ball"]) for frame in make_sketch(chain, found).frames]
    assert min(shown) > 0.75 * shown[0]


def test_a_thing_that_ends_half_hidden_keeps_its_shape() -> None:
    """A ball in a crate: the keyframe shows its upper half; it falls as a whole, and the crate covers it."""
    chain = chain_of(["ball#1", "vase#3"], (["ball#1"], [Link("vase#3", "containment", "ball#1")], []))
    places = {"ball#1": (42, 6, 52, 16), "vase#3": (38, 40, 56, 58)}
    found = evidence(seen(places, NEAR), seen({**places, "ball#1": (42, 34, 52, 44)}, NEAR))
    frames = make_sketch(chain, found).frames
    assert (frames[-1] - found.keyframes[0].image).abs().max() < 0.02
    shown = [area(frame, COLOURS["ball"]) for frame in frames]
    assert shown[len(shown) // 2] > 0.8 * shown[0]


def test_a_thing_that_ends_behind_another_goes_there_and_is_hidden() -> None:
    chain = chain_of(
        ["ball#1", "vase#3"],
        (["ball#1"], [Link("vase#3", "in front of", "ball#1")], [motion("ball#1", "linear")]),
    )
    places = {"ball#1": (8, 40, 18, 50), "vase#3": (36, 36, 50, 58)}
    found = evidence(seen(places, NEAR), seen({"vase#3": places["vase#3"]}, NEAR))
    sketch = make_sketch(chain, found)
    halfway = centre(sketch.frames[chain.events[0].anchor // 2], COLOURS["ball"])
    assert 20 < halfway[0] < 34
    assert area(sketch.frames[-1], COLOURS["ball"]) == 0
    assert not sketch.notes


def test_spawned_things_grow_and_consumed_ones_fade() -> None:
    chain = chain_of(
        ["ball#1", "vase#3"],
        (
            ["ball#1", "pool#4"],
            [Consume("ball#1"), Spawn("pool#4", "ball#1", "pool")],
            [motion("pool#4", "grow"), motion("ball#1", "fade")],
        ),
    )
    first = {"ball#1": (10, 30, 20, 44), "vase#3": BEFORE["vase#3"]}
    last = {"pool#4": (6, 46, 34, 54), "vase#3": BEFORE["vase#3"]}
    found = evidence(seen(first, NEAR), seen(last, NEAR))
    frames = make_sketch(chain, found).frames
    pools = [area(frame, COLOURS["pool"], 0.1) for frame in frames]
    assert pools[0] == 0, pools
    assert all(a <= b + 10 for a, b in pairwise(pools)), pools  # whole pixels are counted
    assert pools[-1] == pytest.approx(28 * 8, abs=4)
    reds = [float(frame[0, 36, 15] - frame[1, 36, 15]) for frame in frames]
    assert all(a >= b - 1e-6 for a, b in pairwise(reds))
    assert reds[-1] < 0.1


def test_a_look_that_changes_stays_where_the_first_frame_has_it() -> None:
    """The editor drew the recoloured vase four pixels off: only its colour is taken."""
    chain = chain_of(["ball#1", "vase#3"], (["vase#3"], [Update("vase#3", "color", "blue")], []))
    first = {"ball#1": BEFORE["ball#1"], "vase#3": (40, 30, 54, 58)}
    blue = {**COLOURS, "vase": (0.1, 0.2, 0.9)}
    off = {**first, "vase#3": (43, 30, 57, 58)}
    found = evidence(seen(first, NEAR), seen(off, NEAR, blue))
    frames = make_sketch(chain, found).frames
    inside = mask_of((44, 32, 53, 56))
    assert (frames[-1][:, inside] - torch.tensor(blue["vase"])[:, None]).abs().max() < 0.05
    beside = mask_of((56, 32, 57, 56))
    assert torch.equal(frames[-1][:, beside], found.first.image[:, beside])


def test_an_editor_that_shifts_and_tints_everything_misleads_nobody() -> None:
    chain, found = falling()
    drawn = found.keyframes[0]
    off = torch.roll(drawn.image, (2, 3), dims=(1, 2)) ** 1.2 * 0.97
    masks = {id: torch.roll(mask, (2, 3), dims=(0, 1)) for id, mask in drawn.masks.items()}
    shifted = replace(drawn, image=off, masks=masks, depth=torch.roll(drawn.depth, (2, 3), dims=(0, 1)))
    frames = make_sketch(chain, evidence(found.first, shifted)).frames
    x, y = centre(frames[-1], COLOURS["ball"])
    assert (x, y) == pytest.approx((15, 39), abs=0.8)
    assert (frames[-1] - drawn.image).abs().mean() < 0.02


def test_a_composed_keyframe_is_the_first_frame_but_for_what_the_plan_changes() -> None:
    chain, found = falling()
    drawn = found.keyframes[0]
    invented = drawn.image.clone()
    invented[:, 2:6, 40:48] = 0.0
    seen = aligned_evidence(chain, evidence(found.first, replace(drawn, image=invented)), composed=True)
    same = (seen.keyframes[0].image == found.first.image).all(0)
    ball = found.first.masks["ball#1"] | drawn.masks["ball#1"]
    assert same[2:6, 40:48].all()
    assert not same[ball].any()
    assert same.float().mean() > 0.7


def test_objects_named_by_relations_alone_are_scenery_unless_they_move() -> None:
    chain, _ = falling()
    assert set(changes(chain)) == {"ball#1"}


def test_what_the_evidence_lacks_is_said_and_stays() -> None:
    chain, found = falling()
    blind = replace(
        found.keyframes[0], masks={k: m for k, m in found.keyframes[0].masks.items() if k != "ball#1"}
    )
    sketch = make_sketch(chain, evidence(found.first, blind))
    assert sketch.notes == ("ball#1 is not seen in keyframe 1: it stays as it was",)
    assert centre(sketch.frames[-1], COLOURS["ball"]) == pytest.approx((15, 11), abs=0.8)


@settings(max_examples=25, deadline=None)
@given(st.integers(-3, 3), st.integers(-3, 3), st.floats(0.8, 1.25), st.floats(0.92, 1.08))
def test_shifts_and_tones_are_found(dx: int, dy: int, gamma: float, tint: float) -> None:
    generator = torch.Generator().manual_seed(1)
    picture = (
        fill(torch.rand(3, 64, 64, generator=generator), torch.zeros(64, 64, dtype=torch.bool)) * 0.8 + 0.1
    )
    moved = torch.roll(picture, (dy, dx), dims=(1, 2)) ** gamma * tint
    everywhere = torch.ones(64, 64, dtype=torch.bool)
    assert find_shift(picture, moved, everywhere) == (-dx, -dy)
    toned = matched_tones(picture, picture**gamma * tint, everywhere)
    assert (toned - picture).abs().max() < 0.02


@given(st.integers(-12, 12), st.integers(-12, 12), st.integers(0, 6))
def test_a_rigid_shift_is_found_though_a_part_is_hidden(dx: int, dy: int, hidden: int) -> None:
    before = mask_of((24, 24, 36, 36)) & ~mask_of((24, 24, 28, 28))
    whole = torch.roll(before, (dy, dx), dims=(0, 1))
    cover = mask_of((0, 36 + dy - hidden, SIZE, SIZE))
    assert rigid_shift(before, whole & ~cover, cover) == (dx, dy)


def test_a_hole_is_filled_from_around_it_and_nothing_else_changes() -> None:
    picture, hole = background(), mask_of((20, 10, 30, 20))
    spoilt = torch.where(hole, torch.zeros(1), picture)
    filled = fill(spoilt, hole)
    assert torch.equal(filled[:, ~hole], picture[:, ~hole])
    assert (filled - picture)[:, hole].abs().max() < 0.05


def test_a_layer_turns_clockwise_about_its_middle() -> None:
    layer = torch.zeros(1, SIZE, SIZE)
    layer[0, 10:20, 30:34] = 1  # above the middle
    turned = placed(layer, (32.0, 32.0), (32.0, 32.0), angle=90.0)
    assert turned[0, 30:34, 44:54].mean() > 0.9  # now right of it


def test_a_stray_pixel_of_a_mask_does_not_change_the_way_of_its_object() -> None:
    chain, clean = falling("roll")
    masks = {**clean.first.masks, "ball#1": clean.first.masks["ball#1"].clone()}
    masks["ball#1"][60, 60] = True
    stray = replace(clean, first=replace(clean.first, masks=masks))
    wanted, found = (make_sketch(chain, e).frames for e in (clean, stray))
    assert (found - wanted).abs().max() < 0.02
