"""Every phenomenon's rules say how things move, and what they say passes the checks."""

from __future__ import annotations

import pytest

from physplan_sandbox.rules import load_rules
from physplan_sandbox.truth import true_chain
from physplan_sandbox.world.phenomena import scene


@pytest.mark.parametrize("index", range(24))
def test_the_true_plan_of_a_scene_carries_checked_motions(index: int) -> None:
    chain = true_chain(scene("validation", index))
    assert all(event.motion for event in chain.events)
    assert chain.rebuilt() == chain


def test_every_event_of_every_phenomenon_says_how_things_move() -> None:
    for name, rules in load_rules().phenomena.items():
        for case in rules.cases.values():
            assert all(event.motion for event in case.events), (name, case.name)
