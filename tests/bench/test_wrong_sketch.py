"""A property spoilt on purpose is off by as much as was asked, and the arms leave out what they say."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from physplan.graph import EventChain, Term
from physplan.guidance import GuidanceConfig
from physplan.guidance.paper.selection import select_terms
from physplan.perception import Evidence, KeyframeEvidence
from physplan.sketch import Sketch
from physplan.sketch.pixels import grow
from physplan_bench.sandbox.wrong_sketch import (
    ARMS,
    COPY_GAP,
    SPOILT,
    WRONG,
    Task,
    arm_config,
    effective,
    error,
    mended,
    share_wrong,
    spoilt,
    tasks_of,
    with_copy,
    wrong_evidence,
)
from physplan_bench.sandbox.wrong_sketch_study import WrongSketchStudy, kinds_for, mended_cell, scenes_for
from physplan_sandbox.truth import true_chain
from physplan_sandbox.world.phenomena import scene

CROSSING = (("filter", "far"), ("drop", "crate"))
RED, GREEN, BLUE = (torch.tensor(colour) for colour in ([0.9, 0.2, 0.1], [0.1, 0.8, 0.2], [0.1, 0.2, 0.9]))


def mask_at(rows: slice, columns: slice) -> torch.Tensor:
    mask = torch.zeros(96, 96, dtype=torch.bool)
    mask[rows, columns] = True
    return mask


BALL = mask_at(slice(40, 60), slice(20, 40))
CRATE = mask_at(slice(50, 70), slice(15, 45))


def shown(ball: torch.Tensor = RED, *, crate: bool = False) -> KeyframeEvidence:
    image = torch.full((3, 96, 96), 0.8)
    image[:, BALL] = ball[:, None]
    masks = {"ball#1": BALL}
    if crate:
        image[:, CRATE] = BLUE[:, None]
        masks = {"ball#1": BALL & ~CRATE, "crate#2": CRATE}
    return KeyframeEvidence(image=image, masks=masks, depth=torch.zeros(96, 96))


def spoil(term: str) -> tuple[Task, KeyframeEvidence, KeyframeEvidence]:
    hides = term == Term.DEPTH.value
    task = Task(term=term, node="ball#1", front="crate#2" if hides else None)
    right = Evidence(first=shown(RED), keyframes=(shown(RED if hides else GREEN, crate=hides),))
    return task, right.keyframes[0], wrong_evidence(right, task).keyframes[0]


@pytest.mark.parametrize("term", WRONG)
def test_a_spoilt_property_is_off_and_the_right_picture_is_not(term: str) -> None:
    task, right, wrong = spoil(term)
    off = error(task, wrong, right, wrong)
    assert off is not None
    assert off >= SPOILT[term]
    assert spoilt({"sketch": off}, term)
    assert error(task, right, right, wrong) == pytest.approx(0, abs=1e-6)


def test_the_size_is_off_by_as_much_as_was_asked() -> None:
    task, right, wrong = spoil("extent")
    assert error(task, wrong, right, wrong) == pytest.approx(-2 * math.log(0.6), abs=0.1)


def test_what_is_hidden_comes_whole_before_what_hides_it() -> None:
    _, right, wrong = spoil("depth")
    assert int(wrong.masks["ball#1"].sum()) == int(BALL.sum()) > int(right.masks["ball#1"].sum())
    assert torch.allclose(wrong.image[:, BALL & CRATE], RED[:, None].expand(3, int((BALL & CRATE).sum())))


def test_an_object_that_keeps_its_look_cannot_have_its_old_one() -> None:
    task = Task(term="appearance", node="ball#1")
    same = Evidence(first=shown(RED), keyframes=(shown(RED),))
    assert wrong_evidence(same, task).keyframes == same.keyframes


def test_the_picture_is_as_wrong_as_it_looks_like_the_wrong_one() -> None:
    _, right, wrong = spoil("count")
    copy = wrong.masks["ball#1"] & ~right.masks["ball#1"]
    half = (right.image + wrong.image) / 2
    assert share_wrong(half, right.image, wrong.image, copy) == pytest.approx(0.5)
    still = Sketch(
        frames=right.image.expand(33, -1, -1, -1),
        masks=torch.zeros(33, 1, 96, 96, dtype=torch.bool),
        kept=torch.zeros(1, 96, 96, dtype=torch.bool),
        orders=(),
        notes=(),
    )
    chain: EventChain = true_chain(scene("train", 0, phenomenon="drop", variant="table"))
    doubled = with_copy(still, chain, right, wrong, "ball#1")
    assert torch.equal(doubled.frames[0], right.image)
    assert torch.equal(doubled.frames[-1], wrong.image)
    assert torch.equal(doubled.masks[-1, 0], copy)


@pytest.mark.parametrize("term", WRONG)
def test_every_term_has_scenes_whose_last_event_selects_it(term: str) -> None:
    kinds = kinds_for(term, "train", index=0)
    assert len(kinds) >= 4
    chosen = scenes_for(term, "train", first=3, number=len(kinds) + 1)
    assert [one.index for one in chosen] == list(range(3, len(kinds) + 4))
    assert [(one.phenomenon.name, one.variant) for one in chosen] == [*kinds, kinds[0]]


def test_the_second_one_touches_nothing() -> None:
    """Touching things are one instance of eq. 6, which counts instances."""
    _, right, wrong = spoil("count")
    copy = wrong.masks["ball#1"] & ~right.masks["ball#1"]
    assert int(copy.sum()) == int(BALL.sum())
    assert not (grow(copy, COPY_GAP - 1) & BALL).any()
    full = replace(right, masks={**right.masks, "crate#2": ~BALL})
    task = Task(term="count", node="ball#1")
    assert wrong_evidence(Evidence(first=full, keyframes=(full,)), task).keyframes == (full,)


def test_only_what_is_in_front_can_be_drawn_behind() -> None:
    """What contains a thing is at its depth, so that their order is no matter of depth."""
    chains = [true_chain(scene("train", 0, phenomenon=name, variant=variant)) for name, variant in CROSSING]
    found = [
        [tasks_of(chain, spec) for spec in select_terms(chain, len(chain.events) - 1) if spec.name == "depth"]
        for chain in chains
    ]
    assert found[0] == [[Task(term="depth", node="pane#3", front="vase#2")]]
    assert found[1] == [[]]


def test_a_share_has_its_exact_interval() -> None:
    assert mended_cell(3, 4) == "75 [19, 99] of 4"


def test_a_study_of_one_term_has_one_column() -> None:
    study = WrongSketchStudy.of_preset(terms=("extent",))
    mended_of = {"none": {"extent": [0, 2]}, "all": {"extent": [2, 2]}}
    table = study.table({"mended": {arm: mended_of.get(arm, {}) for arm in ARMS}}, "")
    assert [column.title for column in table.columns] == ["extent"]
    assert [len(row.cells) for row in table.rows] == [1] * len(ARMS)


def test_every_term_has_an_arm_that_leaves_it_out() -> None:
    config = GuidanceConfig()
    left_out = {arm: arm_config(config, arm).measure.without for arm in ARMS[2:]}
    assert left_out == {f"without {term}": {Term(term)} for term in WRONG}
    assert arm_config(config, "all") == config
    assert not any(arm_config(config, "none").schedule.repeats)


def test_a_term_that_no_event_selects_needs_no_video_of_its_own() -> None:
    chain = true_chain(scene("train", 0, phenomenon="drop", variant="table"))
    assert [effective(arm, chain) for arm in ARMS] == [
        *("none", "all", "without position", "all", "all", "without count", "all")
    ]


def test_what_is_not_found_is_not_mended() -> None:
    assert mended({"sketch": 0.2, "all": 0.1}, "all")
    assert not mended({"sketch": 0.2, "all": 0.11}, "all")
    assert not mended({"sketch": 0.2, "all": None}, "all")
