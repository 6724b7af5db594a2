"""What of a keyframe a model is given: where the plan has changed something by then."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from PIL import Image
from torch import Tensor

from physplan.graph import EventChain, Link, Node, PhysicalDelta, StateChange, StateGraph, Update
from physplan.perception import Evidence
from physplan.pipeline.keyframe_places import changed_by, frames_to_give, place_of_edits
from physplan_testing.pictures import box, evidence_of, paint

SIZE = (40, 80)
GROUND = box(SIZE, 0, 30, 80, 40)
CARTON = box(SIZE, 36, 14, 48, 30)
BEFORE, AFTER = box(SIZE, 4, 22, 12, 30), box(SIZE, 64, 22, 72, 30)
LAMP, LIT = box(SIZE, 20, 4, 26, 10), box(SIZE, 20, 4, 26, 11)


@pytest.fixture
def chain() -> EventChain:
    """A ball rolls along a table behind a carton; then a lamp is lit."""
    names = ("ball#1", "table#2", "carton#3", "lamp#4", "cup#5")
    return EventChain.build(
        prompt="the ball rolls behind the carton",
        num_frames=17,
        graph=StateGraph([Node(name, name.split("#")[0]) for name in names], []),
        deltas=[
            PhysicalDelta((StateChange("ball#1", "behind the carton", "it rolls on"),), 0.4),
            PhysicalDelta((StateChange("lamp#4", "lit", "current flows"),), 0.4),
        ],
        edits=[
            [Link("carton#3", "in front of", "ball#1"), Link("table#2", "support", "ball#1")],
            [
                Update("lamp#4", "color", "bright"),
            ],
        ],
    )


def seen(chain: EventChain, ball: Tensor | None = AFTER, first: Tensor | None = BEFORE) -> Evidence:
    still = {"table#2": GROUND, "carton#3": CARTON, "cup#5": box(SIZE, 76, 0, 80, 4)}
    balls = (first, ball, ball)
    lamps = (LAMP, LAMP, LIT)
    pictures = []
    for shown, lamp in zip(balls, lamps, strict=True):
        masks = {**still, "lamp#4": lamp} | ({} if shown is None else {"ball#1": shown})
        pictures.append((paint(SIZE, *((mask, (0.2, 0.2, 0.2)) for mask in masks.values())), masks))
    return evidence_of(chain, *pictures)


def place(chain: EventChain, evidence: Evidence, event: int = 0, margin: float = 0.0) -> Tensor:
    found = place_of_edits(chain, evidence, event, margin=margin)
    assert found is not None
    return found


def test_it_is_where_the_changed_objects_were_and_are(chain: EventChain) -> None:
    evidence = seen(chain)
    assert torch.equal(place(chain, evidence), BEFORE | AFTER), "not the table that it rolls on"
    assert torch.equal(place(chain, evidence, 1), BEFORE | AFTER | LIT)


def test_around_it_is_a_margin_for_shadows(chain: EventChain) -> None:
    wider = place(chain, seen(chain), margin=0.05)  # of the longer side
    assert torch.equal(wider, box(SIZE, 0, 18, 16, 34) | box(SIZE, 60, 18, 76, 34))


def test_what_is_not_in_sight_is_at_one_of_those_its_edits_name(chain: EventChain) -> None:
    found = place(chain, seen(chain, ball=None))
    assert torch.equal(found, BEFORE | CARTON | GROUND)


def test_objects_of_events_to_come_are_not_changed_yet(chain: EventChain) -> None:
    assert (changed_by(chain, 0), changed_by(chain, 1)) == (("ball#1",), ("ball#1", "lamp#4"))


def test_a_keyframe_whose_edits_are_nowhere_in_sight_is_given_whole_and_that_is_said(
    chain: EventChain,
) -> None:
    images = [Image.new("RGB", SIZE[::-1])] * 2
    for evidence in (seen(chain, first=None), _without(seen(chain, ball=None), "carton#3", "table#2")):
        given, notes = frames_to_give(chain, images, evidence, margin=0.05)
        assert [one.where for one in given] == [None, None]
        assert notes == [
            f"the keyframe of frame {anchor} is given whole: where its edits are is not known"
            for anchor in chain.anchors
        ]


def test_without_evidence_keyframes_are_given_whole_and_nothing_is_said(chain: EventChain) -> None:
    images = [Image.new("RGB", SIZE[::-1])] * 2
    given, notes = frames_to_give(chain, images, None, margin=0.05)
    assert [(one.frame, one.where) for one in given] == [(anchor, None) for anchor in chain.anchors]
    assert not notes


def _without(evidence: Evidence, *names: str) -> Evidence:
    frames = [
        replace(frame, masks={name: mask for name, mask in frame.masks.items() if name not in names})
        for frame in evidence.keyframes
    ]
    return replace(evidence, keyframes=tuple(frames))
