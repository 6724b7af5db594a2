"""A property spoilt on purpose is off by as much as was asked, and the arms leave out what they say."""

from __future__ import annotations

import math

import pytest
import torch

from physplan.graph import Term
from physplan.guidance import GuidanceConfig
from physplan.perception import Evidence, KeyframeEvidence
from physplan_bench.sandbox.wrong_sketch import WRONG, Task, arm_config, error, mended, wrong_evidence

MASK = torch.zeros(96, 96, dtype=torch.bool)
MASK[40:60, 20:40] = True


def shown() -> KeyframeEvidence:
    image = torch.full((3, 96, 96), 0.8)
    image[:, MASK] = torch.tensor([0.9, 0.2, 0.1])[:, None]
    return KeyframeEvidence(image=image, masks={"ball#1": MASK}, depth=torch.zeros(96, 96))


@pytest.mark.parametrize(
    ("term", "low", "high"),
    [
        ("position", 0.12, 0.13),
        ("extent", -2 * math.log(0.65), -2 * math.log(0.55)),
        ("appearance", 0.2, 1.0),
        ("count", 1.0, 1.0),
    ],
)
def test_a_spoilt_property_is_off_and_the_others_are_not(term: str, low: float, high: float) -> None:
    right = Evidence(first=shown(), keyframes=(shown(),))
    wrong = wrong_evidence(right, Task(term=term, node="ball#1"))
    assert wrong.first is right.first
    errors = {
        name: error(name, wrong.keyframes[0], right.keyframes[0], "ball#1") or 0.0
        for name in WRONG
        if name == term or {name, term} == {"position", "appearance"}
    }
    assert low <= errors.pop(term) <= high
    assert all(value < 0.01 for value in errors.values())


def test_arms_leave_out_the_matching_term_or_all_others() -> None:
    config = GuidanceConfig()
    assert arm_config(config, "without", "extent").measure.without == {Term.EXTENT}
    assert arm_config(config, "only", "extent").measure.without == set(Term) - {Term.EXTENT}
    assert arm_config(config, "all", "extent") == config
    assert not any(arm_config(config, "none", "extent").schedule.repeats)


def test_what_is_not_found_is_not_mended() -> None:
    assert mended({"sketch": 0.2, "all": 0.1}, "all")
    assert not mended({"sketch": 0.2, "all": 0.11}, "all")
    assert not mended({"sketch": 0.2, "all": None}, "all")
