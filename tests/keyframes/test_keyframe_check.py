from __future__ import annotations

import pytest
import torch

from physplan import perception
from physplan.graph import Consume, EventChain, GraphEdit, Link, Node, PhysicalDelta, StateChange, StateGraph
from physplan.keyframes import CheckSettings, KeyframeCheck, check_keyframe
from physplan.keyframes.check import visible_change
from physplan.perception import first_frame_evidence
from scenes import (
    COLOURS,
    MELTING_FIRST,
    MELTING_KEYFRAMES,
    Box,
    ColourSegmenter,
    draw,
    melting_chain,
    row_depth,
)

TRAY, ICE, PUDDLE = ("tray", 8, 30, 56, 40), ("ice cube", 24, 14, 40, 30), ("puddle", 16, 27, 48, 30)
BALL = ("ball", 2, 2, 10, 10)


def look(
    image: torch.Tensor,
    *,
    event: int = 1,
    chain: EventChain | None = None,
    first: torch.Tensor = MELTING_FIRST,
) -> KeyframeCheck:
    chain = chain or melting_chain()
    tools = {"segmenter": ColourSegmenter(), "depth": row_depth}
    evidence = first_frame_evidence(chain.graph, perception.look(chain.graph, first, **tools))
    sighting = perception.look(chain.events[event].graph, image, **tools)
    return check_keyframe(chain, event, sighting, first=evidence, segmenter=tools["segmenter"])


def vanishing_balls(*others: Node) -> EventChain:
    """ball#1 goes; ball#2 and all others stay."""
    return EventChain.build(
        prompt="a ball is gone",
        num_frames=9,
        graph=StateGraph([Node("ball#1", "ball"), Node("ball#2", "ball"), *others]),
        deltas=[PhysicalDelta((StateChange("ball#1", "gone", "it is taken away"),), 0.5)],
        edits=[[Consume("ball#1")]],
    )


@pytest.mark.parametrize("event", [0, 1])
def test_a_good_keyframe_has_no_problems_and_no_drift(event: int) -> None:
    assert look(MELTING_KEYFRAMES[event], event=event) == KeyframeCheck(drift=0.0, problems=())


def test_a_new_object_that_was_not_drawn_is_named() -> None:
    assert look(draw(TRAY)).problems == ("the puddle (puddle#3) was not found",)


def test_what_the_plan_puts_behind_something_may_be_hidden_by_it() -> None:
    ball, tray = ("ball", 2, 10, 12, 20), ("tray", 30, 8, 50, 24)
    first, hidden = draw(ball, tray), draw(tray)

    def problems(edit: GraphEdit) -> tuple[str, ...]:
        chain = EventChain.build(
            prompt="the ball rolls on",
            num_frames=9,
            graph=StateGraph([Node("ball#1", "ball"), Node("tray#2", "tray")]),
            deltas=[PhysicalDelta((StateChange("ball#1", "elsewhere", "it rolls"),), 0.5)],
            edits=[[edit]],
        )
        return look(hidden, chain=chain, event=0, first=first).problems

    assert problems(Link("tray#2", "in front of", "ball#1")) == ()
    assert problems(Link("ball#1", "in front of", "tray#2")) == ("the ball (ball#1) was not found",)
    assert problems(Link("ball#1", "near", "tray#2")) == ("the ball (ball#1) was not found",)


def test_a_consumed_object_that_stayed_is_named() -> None:
    check = look(draw(TRAY, ICE, ("puddle", 10, 27, 24, 30)))
    assert check.problems == ("the ice cube (ice#1) is still there",)


def test_a_new_object_of_the_consumed_kind_elsewhere_is_not_the_consumed_one() -> None:
    assert look(draw(TRAY, PUDDLE, ("ice cube", 50, 42, 54, 46))).problems == ()


def test_of_two_alike_the_right_one_must_go() -> None:
    chain = vanishing_balls()
    left, right = ("ball", 2, 10, 12, 20), ("ball", 50, 10, 60, 20)
    first = draw(left, right)
    assert look(draw(right), chain=chain, event=0, first=first).problems == ()
    both = look(first, chain=chain, event=0, first=first)
    assert both.problems == ("the ball (ball#1) is still there",)
    wrong = look(draw(left), chain=chain, event=0, first=first)
    assert wrong.problems


def test_a_changed_background_is_drift() -> None:
    darker = MELTING_KEYFRAMES[1].clone()
    darker[:, :10] -= 0.3
    check = look(darker)
    assert check.drift == pytest.approx(10 * 64 / (48 * 64 - edited_pixels()), rel=0.15)
    assert len(check.problems) == 1
    assert "of what no edit touches has changed" in check.problems[0]


def edited_pixels() -> int:
    """Tray, ice and puddle with a margin of 3 pixels: a tall box on a wide one."""
    return (56 - 8 + 6) * (40 - 27 + 6) + (40 - 24 + 6) * (27 - 14)


def test_a_slight_shift_of_colour_and_grain_are_not_drift() -> None:
    grain = 0.05 * torch.randn(3, 48, 64, generator=torch.Generator().manual_seed(0))
    assert look(MELTING_KEYFRAMES[1] + grain.clamp(-0.04, 0.04) + 0.03).drift == 0


def test_what_changes_next_to_an_edited_object_is_not_drift() -> None:
    shadow = MELTING_KEYFRAMES[1].clone()
    shadow[:, 40:42, 8:56] -= 0.3
    assert look(shadow).problems == ()


def test_an_object_that_no_edit_touches_must_look_the_same() -> None:
    chain = vanishing_balls(Node("tray#3", "tray"))
    left, right = ("ball", 2, 10, 12, 20), ("ball", 50, 10, 60, 20)
    first = draw(left, right, ("tray", 28, 40, 34, 44))
    keyframe = draw(right, ("tray", 28, 40, 34, 44))
    keyframe[:, 40:44, 28:34] = torch.tensor(COLOURS["puddle"])[:, None, None]
    check = look(keyframe, chain=chain, event=0, first=first)
    assert "the tray (tray#3), which no edit touches, has changed" in check.problems


def test_what_cannot_be_seen_in_the_first_frame_is_not_held_against_the_editor() -> None:
    chain = vanishing_balls(Node("tray#3", "tray"))
    left, right = ("ball", 2, 10, 12, 20), ("ball", 50, 10, 60, 20)
    assert look(draw(right), chain=chain, event=0, first=draw(left, right)).problems == ()


def test_fewer_problems_rank_before_less_drift() -> None:
    checks = [
        KeyframeCheck(drift=0.0, problems=("a", "b")),
        KeyframeCheck(drift=0.5, problems=("a",)),
        KeyframeCheck(drift=0.2, problems=("a",)),
    ]
    assert min(checks, key=lambda check: check.rank) is checks[2]


def test_a_change_is_seen_where_it_is() -> None:
    image = draw()
    other = draw(BALL)
    seen = visible_change(image, other, CheckSettings().visible)
    assert seen[3:9, 3:9].all()
    assert not seen[14:].any()


def test_boxes_are_what_they_seem() -> None:
    """The scene's own colours are far enough apart for the check to tell them."""
    boxes: list[Box] = [(name, 0, 0, 64, 48) for name in COLOURS]
    for one in boxes:
        for other in boxes:
            assert visible_change(draw(one), draw(other), 0.1).all() == (one is not other)
