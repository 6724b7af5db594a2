"""A thing that came out of hiding as a fragment does not hold, whatever the keyframe shows."""

from __future__ import annotations

import torch

from physplan.graph import Edge, EventChain, Unlink, Update, motion
from physplan.perception import Evidence
from physplan.sketch import make_sketch
from physplan.verify import Verdict, verify_video
from physplan.verify.fragments import fragments, is_whole
from sketch.sketch_scenes import chain_of, evidence, mask_of, seen
from verify.test_verify import PERCEPTION

NEAR = {"ball#1": 0.4, "ball#2": 0.4, "vase#3": 0.8}
STILL = {"vase#3": (26, 36, 38, 58), "ball#2": (4, 40, 14, 50)}


def comes_out() -> tuple[EventChain, Evidence]:
    """4 of 10 columns of a ball stand beside a vase; the editor lets those 4 roll away."""
    chain = chain_of(
        ["ball#1", "ball#2", "vase#3"],
        (["ball#1"], [Unlink("vase#3", "in front of", "ball#1")], [motion("ball#1", "linear")]),
        edges=[Edge("vase#3", "in front of", "ball#1")],
    )
    first = seen({"ball#1": (32, 40, 42, 50), **STILL}, NEAR)
    return chain, evidence(first, seen({"ball#1": (52, 40, 56, 50), **STILL}, NEAR))


def judged(*, whole: bool) -> Verdict:
    chain, found = comes_out()
    frames = make_sketch(chain, found).frames.clone()
    if not whole:
        frames[-6:] = found.keyframes[0].image
    return verify_video(chain, frames, perception=PERCEPTION, evidence=found)


def test_a_fragment_is_named_and_does_not_hold() -> None:
    verdict = judged(whole=False)
    assert verdict.verdict != "holds"
    assert [edit.verdict for edit in verdict.events[-1].edits] == ["fails"]


def test_the_whole_thing_is_no_fragment() -> None:
    verdict = judged(whole=True)
    assert "fails" not in [edit.verdict for edit in verdict.events[-1].edits]


def test_nothing_is_segmented_where_nothing_was_hidden() -> None:
    chain = chain_of(["ball#1"], (["ball#1"], [Update("ball#1", "integrity", "broken")], []))
    found = evidence(seen({"ball#1": (4, 40, 14, 50)}, NEAR), seen({"ball#1": (4, 40, 14, 50)}, NEAR))
    assert fragments(chain, found, found.first.image, None) == set()  # type: ignore[arg-type]


def test_pieces_and_parts_are_not_whole() -> None:
    whole = mask_of((10, 10, 20, 20))
    speck = mask_of((40, 40, 42, 42))
    assert is_whole(whole | speck, whole)
    assert not is_whole(mask_of((10, 10, 16, 20)), whole)
    assert not is_whole(torch.where(mask_of((14, 10, 16, 20)), False, whole), whole)
