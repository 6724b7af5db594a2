"""A delta and its edits that say the opposite of each other are refused where words can decide it."""

from __future__ import annotations

import pytest

from physplan.graph import Node, PhysicalDelta, StateChange, StateGraph, Update, check
from physplan.graph.contradictions import contradiction

GRAPH = StateGraph([Node("ball#1", "ball")])


def faults(state: str, *edits: Update) -> list[str]:
    delta = PhysicalDelta((StateChange("ball#1", state, "a rule"),), 0.5)
    return [f"{one.check}: {one.message}" for one in check(GRAPH, delta, edits)]


def test_larger_and_blue_is_not_smaller() -> None:
    (fault,) = faults("larger and blue", Update("ball#1", "extent", "smaller"))
    assert fault.startswith("consistency: edits[0]")
    assert "'larger'" in fault
    assert "'smaller'" in fault
    assert "make the two agree" in fault
    assert faults("larger and blue", Update("ball#1", "extent", "larger")) == []
    (fault,) = faults("larger and blue", Update("ball#1", "color", "dark red"))
    assert "'blue'" in fault


@pytest.mark.parametrize(
    ("state", "value"),
    [
        ("no longer wet", "dry"),
        ("turned from red to blue", "blue"),
        ("half melted", "solid core"),
        ("wet where it was dry", "dry"),
        ("red and blue", "blue"),
        ("spread over most of the tray", "large"),
        ("Wetness", "dry"),
    ],
)
def test_what_words_cannot_decide_passes(state: str, value: str) -> None:
    assert contradiction(state, value) is None
