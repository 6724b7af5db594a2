"""What the next attempt changes, from the verdict on the best one so far."""

from __future__ import annotations

import pytest

from physplan.verify.limits import Limits, answer
from physplan.verify.verdict import EditFound, EventFound, Verdict
from physplan.video.clocks import Clocks
from physplan_models.attempts.changing import later_clocks
from physplan_models.attempts.deciding import Facts, next_changes

ALL = ("keyframes", "repeats", "clock", "words", "plan")
LIMITS = Limits()


def edit(text: str, value: float | None) -> EditFound:
    found = "doubtful" if value is None else answer(value, LIMITS.edit_holds, LIMITS.edit_fails)
    return EditFound(edit=text, objects=("ball#2",), value=value, frame=5, verdict=found)


def verdict(*values: float | None) -> Verdict:
    """One event per value, each with one edit."""
    events = tuple(
        EventFound(
            event=number,
            anchor=5 * number,
            verdict="holds" if (value or 0) >= LIMITS.edit_holds else "fails",
            value=value or 0.0,
            stray=0.0,
            edits=(edit("Link(crate#3, containment, ball#2)", value),),
        )
        for number, value in enumerate(values, 1)
    )
    return Verdict(
        verdict="fails", score=0.1, compared_with="keyframes", events=events, bystanders=(), motion={}
    )


def names(facts: Facts) -> list[str]:
    return [change.name for change in next_changes(facts)]


def test_each_step_is_taken_once_and_the_seed_is_last() -> None:
    tried: list[str] = []
    taken = []
    for _ in range(5):
        found = names(Facts(verdict=verdict(0.9, 0.2), able=ALL, tried=tried, off={2: ("no ball",)}))
        taken.append(found)
        tried += found
    assert taken == [["keyframes 2"], ["repeats", "clock", "words"], ["plan"], ["seed"], ["seed"]]


def test_a_keyframe_is_redrawn_where_its_event_is_missed_and_it_does_not_show_its_state() -> None:
    off = {1: ("the cup has changed",)}
    assert names(Facts(verdict=verdict(0.9, 0.2), able=ALL, off=off))[0] == "repeats"  # event 1 is seen
    (change,) = next_changes(Facts(verdict=verdict(0.9, None), able=ALL))
    assert change.name == "keyframes 2"
    assert change.why == "it does not show that ball#2 is in crate#3"
    assert names(Facts(verdict=verdict(None), able=("clock",))) == ["clock"]


def test_words_say_what_was_missed_and_the_reasoner_is_told_too() -> None:
    (words,) = next_changes(Facts(verdict=verdict(0.9, 0.2), able=("words",)))
    assert words.words == "It is clearly seen that the ball is in the crate."
    (plan,) = next_changes(Facts(verdict=verdict(0.9, 0.2), able=("plan",)))
    assert "event 2: ball#2 is in crate#3" in plan.words
    assert plan.why == "event 2 cannot be seen"


def test_what_a_run_cannot_change_is_left_out() -> None:
    assert names(Facts(verdict=verdict(0.1), able=())) == ["seed"]


@pytest.mark.parametrize(("weak", "strong"), [(0.06, 0.14), (0.6, 0.9), (0.0, 0.0), (1.0, 1.0)])
def test_later_clocks_are_clocks(weak: float, strong: float) -> None:
    later = later_clocks(Clocks(weak=weak, strong=strong))
    assert later.strong >= strong or strong == 1
    assert later.weak >= weak or weak == 1
