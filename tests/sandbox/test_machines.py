"""Beams on a hinge: how they swing in the world, and how the editor tips them with what they carry."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from physplan.graph import EventChain
from physplan.keyframes.protocol import EditRequest
from physplan.perception import first_frame_evidence, look
from physplan_sandbox.editor.frame_geometry import Box, FrameGeometry
from physplan_sandbox.editor.placing import poses
from physplan_sandbox.parser import beam_slope
from physplan_sandbox.truth import object_ids, true_chain
from physplan_sandbox.world.phenomena import scene
from physplan_sandbox.world.physics import swing
from physplan_sandbox.world.render import Clip
from physplan_sandbox.world.scene import Scene
from physplan_testing.world_oracle import Oracle, tensor


def test_a_beam_goes_to_the_stop_of_its_heavier_side_and_level_between_equal_ones() -> None:
    for torque, end in ((0.3, 0.2), (-0.3, -0.2), (0.0, 0.0)):
        angles = swing(lambda frame, torque=torque: torque, limit=0.2, start=0.2)  # type: ignore[misc]
        assert angles[0] == pytest.approx(0.2)
        assert angles[-1] == pytest.approx(end, abs=0.02)
        assert np.abs(angles).max() <= 0.2 + 1e-6


@pytest.mark.parametrize(("variant", "ends"), [("apple", -1.0), ("twin", -1.0), ("heavy", 1.0)])
def test_what_lies_on_the_other_pan_decides_where_the_balance_ends(variant: str, ends: float) -> None:
    world = scene("validation", 8, phenomenon="balance", variant=variant)
    (angles,) = (sprite.level for sprite in world.sprites() if sprite.object == "balance")
    assert np.sign(angles[0]) == 1
    assert np.sign(angles[-1]) == ends
    assert (np.abs(angles[10:22]).min() < 0.02) == (variant == "twin")  # level between the two weights


def placed(name: str, variant: str) -> tuple[Scene, EventChain, Clip, FrameGeometry, EditRequest]:
    """The editor's request for the last state of a scene."""
    world = scene("validation", 8, phenomenon=name, variant=variant)
    oracle = Oracle()
    clip = oracle.show(world)
    chain = true_chain(world)
    first = first_frame_evidence(
        chain.graph, look(chain.graph, tensor(clip.frames[0]), segmenter=oracle, depth=oracle)
    )
    masks = {id: mask.numpy() for id, mask in first.masks.items()}
    categories = {id: chain.node(id).category for id in masks}
    setting = FrameGeometry.of(masks, first.depth.numpy(), categories)
    request = EditRequest(
        image=Image.fromarray(clip.frames[0]),
        instruction="",
        event=len(chain.events) - 1,
        chain=chain,
        first=first,
        seed=0,
    )
    return world, chain, clip, setting, request


@pytest.mark.parametrize(
    ("name", "variant", "moved"),
    [
        ("balance", "apple", ("pan0", "pan1", "load", "weight0", "weight1")),
        ("balance", "twin", ("pan0", "pan1", "load", "weight0", "weight1")),
        ("balance", "heavy", ("weight0", "weight1")),
        ("seesaw", "crate", ("weight", "ball")),
        ("seesaw", "heavy", ("weight",)),
    ],
)
def test_the_editor_puts_what_a_beam_carries_where_it_is(
    name: str, variant: str, moved: tuple[str, ...]
) -> None:
    world, chain, clip, setting, request = placed(name, variant)
    found, ids = poses(request, setting), object_ids(world)
    for key in moved:
        there = setting.boxes[ids[key]].posed(found[ids[key]])
        truth = Box.of(clip.mask(key, chain.anchors[-1]))
        assert abs(there.x - truth.x) < 5, (key, there, truth)
        assert abs(there.bottom - truth.bottom) < 4, (key, there, truth)
    still = set(setting.boxes) - {ids[key] for key in moved} - set(setting.beams)
    assert not still & set(found)


def test_the_slope_of_a_beam_is_seen_beside_what_lies_on_it() -> None:
    for name, variant in (("seesaw", "crate"), ("seesaw", "heavy"), ("balance", "twin")):
        world = scene("validation", 9, phenomenon=name, variant=variant)
        (angles,) = (sprite.level for sprite in world.sprites() if sprite.object == name)
        slope = beam_slope(world.render(only=[0]).mask(name))
        assert slope == pytest.approx(np.tan(np.asarray(angles)[0]), abs=0.09), (name, variant)


def test_a_beam_that_something_covers_in_part_still_has_a_slope() -> None:
    mask = np.zeros((60, 60), dtype=bool)
    for column in range(5, 55):
        mask[20 + column // 5 : 24 + column // 5, column] = True
    whole = beam_slope(mask)
    mask[:, 12:16] = False  # a thing that stands in front
    assert beam_slope(mask) == pytest.approx(whole, abs=0.06)
    mask[:, :53] = False
    assert np.isfinite(beam_slope(mask))
