"""What the plan leaves alone: which objects those are, and that their pixels are held to the first frame."""

from __future__ import annotations

import torch

from physplan.graph import Edge, EventChain, Link, Node, PhysicalDelta, StateChange, StateGraph, Update
from physplan.guidance.extensions.bystanders import (
    TOLERANCE,
    KeepBystanders,
    KeepRest,
    bystanders,
    excess,
)
from physplan.guidance.objective import measure_frame
from physplan_testing.pictures import box, evidence_of, paint

SIZE = (32, 48)
RED, GREEN, BLUE, WHITE = (0.9, 0.1, 0.1), (0.1, 0.7, 0.2), (0.1, 0.2, 0.9), (1.0, 1.0, 1.0)
BALL, CUP, PLANT, TABLE = (
    box(SIZE, 4, 4, 12, 12), box(SIZE, 18, 4, 26, 12), box(SIZE, 34, 4, 44, 12), box(SIZE, 2, 20, 46, 30),
)  # fmt: skip
FIRST = {"ball#1": (BALL, RED), "cup#2": (CUP, BLUE), "plant#3": (PLANT, GREEN), "table#4": (TABLE, WHITE)}


def chain() -> EventChain:
    """The ball changes; it lies on the table, as the cup does. Nothing touches the plant."""
    return EventChain.build(
        prompt="the ball turns blue",
        num_frames=9,
        graph=StateGraph(
            [Node(id, id.partition("#")[0]) for id in FIRST],
            [
                Edge("table#4", "support", "ball#1"),
                Edge("table#4", "support", "cup#2"),
                Edge("ball#1", "left of", "plant#3"),
            ],
        ),
        deltas=[PhysicalDelta((StateChange("ball#1", "blue", "it is painted"),), 0.9)],
        edits=[[Update("ball#1", "color", "blue")]],
    )


def picture(**colours: tuple[float, float, float]) -> torch.Tensor:
    layers = [(mask, colours.get(id.partition("#")[0], colour)) for id, (mask, colour) in FIRST.items()]
    return paint(SIZE, *layers)


def objective(drawn: torch.Tensor, *, seen: tuple[str, ...] = tuple(FIRST)) -> KeepBystanders:
    masks = {id: mask for id, (mask, _) in FIRST.items() if id in seen}
    evidence = evidence_of(chain(), (picture(), masks), (drawn, masks))
    return KeepBystanders(chain(), evidence, size=SIZE, device=torch.device("cpu"))


def value(keep: KeepBystanders, frame: torch.Tensor) -> float:
    (term,) = measure_frame(keep, 0, frame)
    assert term.value is not None
    return float(term.value)


def test_bystanders_are_named_by_no_edit_and_hold_nothing_that_is():
    assert bystanders(chain(), chain().events[0]) == ("cup#2", "plant#3")


def test_what_stands_on_a_named_table_is_a_bystander_and_what_is_in_a_named_glass_is_not():
    plan = EventChain.build(
        prompt="the glass is set on the table",
        num_frames=9,
        graph=StateGraph(
            [Node(id, id.partition("#")[0]) for id in ("table#1", "glass#2", "water#3", "cup#4")],
            [Edge("glass#2", "containment", "water#3"), Edge("table#1", "support", "cup#4")],
        ),
        deltas=[PhysicalDelta((StateChange("glass#2", "on the table", "it is put there"),), 0.9)],
        edits=[[Link("table#1", "support", "glass#2")]],
    )
    assert bystanders(plan, plan.events[0]) == ("cup#4",)


def test_a_bystander_that_changes_costs_and_a_changed_object_does_not():
    keep = objective(picture(ball=BLUE))
    assert value(keep, picture(ball=BLUE)) == 0
    assert value(keep, picture(ball=BLUE, plant=RED)) > 0.05


def test_what_the_editor_did_to_a_bystander_does_not_matter():
    assert value(objective(picture(ball=BLUE, plant=RED)), picture(ball=BLUE)) == 0


def test_differences_that_a_decoder_makes_cost_nothing():
    keep = objective(picture(ball=BLUE))
    assert value(keep, (picture() + 0.9 * TOLERANCE).clamp(0, 1)) == 0


def test_the_gradient_stays_on_the_bystanders_and_is_right():
    keep = objective(picture(ball=BLUE))
    frame = torch.rand(3, *SIZE, dtype=torch.float64, requires_grad=True)
    first, place = keep.first.double(), keep.places[0].double()
    assert torch.autograd.gradcheck(lambda x: excess(x, first, place), frame)
    (gradient,) = torch.autograd.grad(excess(frame, first, place), frame)
    assert (gradient[:, place == 0] == 0).all()
    assert torch.equal(place > 0, CUP | PLANT)


def test_without_bystanders_the_term_is_skipped_with_a_reason():
    (term,) = measure_frame(objective(picture(), seen=("ball#1", "table#4")), 0, picture())
    assert term.value is None
    assert "changed" in (term.skipped or "")


def test_every_frame_of_the_round_has_its_turn_with_the_event_that_is_under_way():
    keep = objective(picture(ball=BLUE))
    (anchor,) = chain().anchors
    turns = [keep.turn(repeat) for repeat in range(2 * len(keep.frames))]
    assert turns[0] == (8, 0)
    assert {frame for frame, _ in turns} == {8, 4}
    assert turns[: len(keep.frames)] == turns[len(keep.frames) :]
    assert anchor <= 8


def test_where_the_keyframe_is_the_first_frame_the_rest_is_held_and_elsewhere_nothing():
    masks = {id: mask for id, (mask, _) in FIRST.items()}
    evidence = evidence_of(chain(), (picture(), masks), (picture(ball=BLUE), masks))
    rest = KeepRest(evidence, size=SIZE, device=torch.device("cpu"))
    spoilt = picture()
    spoilt[:, 0, :] = 0.0  # the wall, which is no object

    def cost(frame: torch.Tensor) -> float:
        (term,) = measure_frame(rest, 0, frame)
        assert term.value is not None
        return float(term.value)

    assert cost(picture(ball=RED)) == cost(picture(ball=GREEN)) == 0
    assert cost(spoilt) > 0
    assert cost(picture(plant=RED)) > 0
    assert torch.equal(rest.places[0] > 0, ~BALL)


def test_an_editor_that_redrew_every_pixel_leaves_no_rest():
    masks = {id: mask for id, (mask, _) in FIRST.items()}
    evidence = evidence_of(chain(), (picture(), masks), (picture() * 0.9, masks))
    rest = KeepRest(evidence, size=SIZE, device=torch.device("cpu"))
    (term,) = measure_frame(rest, 0, picture())
    assert term.value is None
    assert "keyframe" in (term.skipped or "")
