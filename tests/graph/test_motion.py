"""Laws of motion: exact ends, checked against the edits, and a plan without them is what it was."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from physplan.graph import (
    Consume,
    Edge,
    EventChain,
    GraphEdit,
    Link,
    Node,
    ParseError,
    PhysicalDelta,
    RejectedEdits,
    Spawn,
    StateChange,
    StateGraph,
    Unlink,
    Update,
    check_motion,
    motion,
    motion_of,
    parse_json,
    parse_translation,
)
from physplan.graph.laws import Way, moment
from physplan.graph.motion import LAWS, Motion, Value, motions_from_json, parameter_problem

PLAN = (files("physplan") / "data" / "melting_ice.json").read_bytes()
TIMES = st.floats(0, 1)
PLACES = st.tuples(st.floats(-2, 2), st.floats(-2, 2))
WAYS = st.builds(
    lambda start, end, pivot, radius: Way(start=start, end=end, pivot=pivot, radius=radius),
    PLACES,
    PLACES,
    st.none() | PLACES,
    st.floats(0, 1),
)
MONOTONE = (
    "linear",
    "accelerating",
    "decelerating",
    "roll",
    "tip",
    "rest",
    "grow",
    "shrink",
    "fade",
    "spread",
)


@st.composite
def motions(draw: st.DrawFn, laws: tuple[str, ...] = tuple(LAWS)) -> Motion:
    law = draw(st.sampled_from(laws))
    given: dict[str, Value] = {}
    for name, parameter in LAWS[law].parameters.items():
        if parameter.path:
            place = st.floats(-1, 1)
            middle = draw(st.tuples(st.floats(0.1, 0.9), place, place, st.floats(-720, 720)))
            given[name] = ((0.0, 0.0, 0.0, 0.0), middle, (1.0, draw(place), draw(place), 0.0))
        elif parameter.low is not None and parameter.high is not None and name not in ("begins", "ends"):
            given[name] = draw(st.floats(parameter.low, parameter.high))
        elif parameter.choices:
            given[name] = draw(st.sampled_from(parameter.choices))
    given["begins"] = draw(st.floats(0, 0.4))
    given["ends"] = draw(st.floats(0.5, 1))
    return motion("ball#1", law, **given)


@given(motions(), WAYS)
def test_every_law_starts_and_ends_exactly_at_its_states(moving: Motion, way: Way) -> None:
    first, last = moment(moving, way, 0.0), moment(moving, way, 1.0)
    assert (first.place, first.progress, first.angle) == (way.start, 0.0, 0.0)
    assert last.place == way.end
    assert last.progress == pytest.approx(1.0)
    for end in (first, last):
        assert (end.size, end.opacity, end.shown) == (1.0, 1.0, (0.0, 1.0))


@given(motions(laws=MONOTONE), WAYS, TIMES, TIMES)
def test_progress_never_goes_back(moving: Motion, way: Way, one: float, two: float) -> None:
    early, late = sorted((one, two))
    assert moment(moving, way, early).progress <= moment(moving, way, late).progress + 1e-12


@given(motions(laws=("grow", "fade", "spread", "pour")), WAYS, TIMES, TIMES)
def test_what_arrives_is_nothing_at_first_and_whole_at_last(
    moving: Motion, way: Way, one: float, two: float
) -> None:
    early, late = sorted((one, two))

    def amount(u: float) -> float:
        at = moment(moving, way, u, "arrive")
        return at.size * at.opacity * (at.shown[1] - at.shown[0])

    assert amount(0.0) == 0.0
    assert amount(1.0) == 1.0
    assert amount(early) <= amount(late) + 1e-12


@given(motions(laws=("shrink", "fade", "pour")), WAYS, TIMES, TIMES)
def test_what_leaves_is_whole_at_first_and_nothing_at_last(
    moving: Motion, way: Way, one: float, two: float
) -> None:
    early, late = sorted((one, two))

    def amount(u: float) -> float:
        at = moment(moving, way, u, "leave")
        return at.size * at.opacity * (at.shown[1] - at.shown[0])

    assert amount(0.0) == 1.0
    assert amount(1.0) == 0.0
    assert amount(early) >= amount(late) - 1e-12


@given(PLACES, PLACES, st.floats(0, 1))
def test_a_projectile_has_one_acceleration_and_reaches_its_apex(
    start: tuple[float, float], end: tuple[float, float], rise: float
) -> None:
    way = Way(start=start, end=end)
    heights = [moment(motion("b#1", "projectile", rise=rise), way, k / 400).place[1] for k in range(401)]
    bends = [heights[k - 1] - 2 * heights[k] + heights[k + 1] for k in range(1, 400)]
    assert max(bends) - min(bends) < 1e-9
    assert min(bends) > -1e-9
    apex = max(rise, start[1] - end[1], 0.0)
    assert start[1] - min(heights) == pytest.approx(apex, abs=1e-3)


def test_a_fall_covers_a_quarter_of_its_way_in_half_its_time() -> None:
    way = Way(start=(0.0, 0.0), end=(0.0, 1.0))
    assert moment(motion("b#1", "accelerating"), way, 0.5).place == (0.0, 0.25)
    assert moment(motion("b#1", "decelerating"), way, 0.5).place == (0.0, 0.75)


def test_a_level_flight_leaves_the_edge_late() -> None:
    way = Way(start=(0.0, 0.0), end=(1.0, 0.5))
    off_the_edge = motion("b#1", "projectile", level=0.6)
    assert moment(off_the_edge, way, 0.6).place == (0.6, 0.0)
    assert moment(off_the_edge, way, 0.8).place == pytest.approx((0.8, 0.125))


def test_a_rolling_ball_turns_by_its_way_over_its_radius() -> None:
    way = Way(start=(0.0, 0.0), end=(math.pi, 0.0), radius=0.5)
    assert moment(motion("b#1", "roll"), way, 0.5).angle == pytest.approx(180.0)
    back = Way(start=(math.pi, 0.0), end=(0.0, 0.0), radius=0.5)
    assert moment(motion("b#1", "roll"), back, 0.5).angle == pytest.approx(-180.0)


def test_a_swing_keeps_its_distance_from_the_pivot() -> None:
    way = Way(start=(-1.0, 1.0), end=(1.0, 1.0), pivot=(0.0, 0.0))
    for k in range(11):
        place = moment(motion("b#1", "swing", returns=1.0), way, k / 10).place
        assert math.hypot(*place) == pytest.approx(math.sqrt(2))


def test_a_tipped_block_turns_about_its_lower_edge() -> None:
    way = Way(start=(0.0, -1.0), end=(1.0, 0.0), pivot=(0.0, 0.0))
    half = moment(motion("b#1", "tip", angle=90.0), way, math.sqrt(0.5))
    assert half.angle == pytest.approx(45.0)
    assert half.place == pytest.approx((math.sqrt(0.5), -math.sqrt(0.5)))


# What fits an event.

GRAPH = StateGraph(
    [Node("ball#1", "ball"), Node("crate#2", "crate"), Node("hook#3", "hook"), Node("lamp#4", "lamp")],
    [Edge("ball#1", "above", "crate#2"), Edge("hook#3", "attachment", "lamp#4")],
)


def delta(*objects: str) -> PhysicalDelta:
    return PhysicalDelta(tuple(StateChange(id, "is so", "a rule") for id in objects), 0.5)


FALL: tuple[GraphEdit, ...] = (Unlink("ball#1", "above", "crate#2"), Link("crate#2", "containment", "ball#1"))
SPAWN: tuple[GraphEdit, ...] = (
    Spawn("water#5", "ball#1", "water", {"material_phase": "liquid"}),
    Link("crate#2", "containment", "water#5"),
)


@pytest.mark.parametrize(
    ("moving", "objects", "edits", "complaint"),
    [
        (motion("bal#1", "linear"), ("ball#1",), FALL, "did you mean 'ball#1'"),
        (motion("lamp#4", "linear"), ("ball#1",), FALL, "no edit of this event acts on lamp#4"),
        (motion("ball#1", "falls"), ("ball#1",), FALL, "is not a law"),
        (motion("ball#1", "linear", rise=0.1), ("ball#1",), FALL, "no parameter 'rise'"),
        (motion("ball#1", "projectile", rise=7.0), ("ball#1",), FALL, "from 0 to 1"),
        (motion("ball#1", "linear", begins=0.5, ends=0.5), ("ball#1",), FALL, "`begins` smaller"),
        (motion("ball#1", "linear", to="crate#2"), ("ball#1",), FALL, "`to` is for an object"),
        (motion("ball#1", "rest"), ("ball#1",), FALL, "cannot rest"),
        (motion("ball#1", "swing"), ("ball#1",), FALL, "cannot swing"),
        (motion("ball#1", "grow"), ("ball#1",), FALL, "grow needs a Spawn"),
        (motion("ball#1", "fade"), ("ball#1",), FALL, "fade needs"),
        (motion("water#5", "rest"), ("ball#1", "water#5"), SPAWN, "comes or goes"),
        (motion("water#5", "shrink"), ("ball#1", "water#5"), SPAWN, "shrink needs"),
        (motion("water#5", "pour", way="sideways"), ("ball#1", "water#5"), SPAWN, "one of down, up"),
        (motion("ball#1", "linear", to="tree#9"), ("ball#1",), (Consume("ball#1"),), "no object of this"),
    ],
)
def test_a_motion_that_does_not_fit_is_refused(
    moving: Motion, objects: tuple[str, ...], edits: tuple[GraphEdit, ...], complaint: str
) -> None:
    (violation,) = check_motion(GRAPH, delta(*objects), edits, [moving])
    assert complaint in violation.message
    assert violation.message.startswith("motion[0]")


@pytest.mark.parametrize(
    ("moving", "objects", "edits"),
    [
        (motion("ball#1", "projectile", rise=0.2), ("ball#1",), FALL),
        (motion("crate#2", "rest"), ("ball#1",), FALL),
        (motion("water#5", "pour", way="up"), ("ball#1", "water#5"), SPAWN),
        (motion("lamp#4", "swing"), ("lamp#4",), (Update("lamp#4", "configuration", "tilted"),)),
        (motion("ball#1", "accelerating", to="crate#2"), ("ball#1",), (Consume("ball#1"),)),
        (motion("ball#1", "shrink"), ("ball#1",), (Update("ball#1", "extent", "small"),)),
    ],
)
def test_a_motion_that_fits_is_accepted(
    moving: Motion, objects: tuple[str, ...], edits: tuple[GraphEdit, ...]
) -> None:
    assert check_motion(GRAPH, delta(*objects), edits, [moving]) == ()


def test_an_object_moves_by_one_law() -> None:
    twice = [motion("ball#1", "linear"), motion("ball#1", "accelerating")]
    (violation,) = check_motion(GRAPH, delta("ball#1"), FALL, twice)
    assert "two laws" in violation.message


@pytest.mark.parametrize(
    ("id", "objects", "edits", "law"),
    [
        ("ball#1", ("ball#1",), FALL, "accelerating"),
        ("crate#2", ("ball#1",), FALL, "rest"),
        ("ball#1", ("ball#1",), (Link("ball#1", "near", "crate#2"),), "linear"),
        ("water#5", ("ball#1",), SPAWN, "pour"),
        ("ball#1", ("ball#1",), (Consume("ball#1"),), "fade"),
        ("ball#1", ("ball#1",), (Update("ball#1", "extent", "smaller"),), "shrink"),
        ("ball#1", ("ball#1",), (Update("ball#1", "extent", "large"),), "grow"),
        ("ball#1", ("ball#1",), (Update("ball#1", "configuration", "lying on its side"),), "tip"),
        ("ball#1", ("ball#1",), (Update("ball#1", "color", "red"),), "rest"),
    ],
)
def test_without_a_motion_the_edits_imply_one(
    id: str, objects: tuple[str, ...], edits: tuple[GraphEdit, ...], law: str
) -> None:
    implied = motion_of(id, GRAPH, delta(*objects), edits)
    assert implied.law == law
    assert check_motion(GRAPH, delta(*objects), edits, [implied]) == ()


# In the plan's file.


def with_motion(value: object) -> dict[str, object]:
    plan = json.loads(PLAN)
    plan["events"][-1]["motion"] = value
    return dict(plan)


def test_a_plan_without_motion_is_saved_byte_for_byte_as_before(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(PLAN)
    chain = EventChain.load(tmp_path / "plan.json")
    chain.save(tmp_path / "again.json")
    EventChain.load(tmp_path / "again.json").save(tmp_path / "third.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "third.json").read_bytes()
    assert b"motion" not in (tmp_path / "again.json").read_bytes()


def test_motion_survives_saving_and_rebuilding(tmp_path: Path) -> None:
    plan = with_motion([{"o": "puddle#3", "law": "spread", "begins": 0.25}])
    chain = EventChain.from_json(parse_json(json.dumps(plan)))
    chain.save(tmp_path / "plan.json")
    again = EventChain.load(tmp_path / "plan.json")
    assert again == chain
    assert again.rebuilt() == chain
    assert again.events[-1].motion == (motion("puddle#3", "spread", begins=0.25),)


def test_a_wrong_motion_in_a_file_is_named_with_its_place() -> None:
    with pytest.raises(ParseError, match=r"events\[\d\]\.motion\[0\]: lacks the field 'law'"):
        EventChain.from_json(with_motion([{"o": "puddle#3"}]))
    with pytest.raises((ParseError, RejectedEdits), match="is not a law"):
        EventChain.from_json(with_motion([{"o": "puddle#3", "law": "teleport"}]))


def test_an_answer_without_motion_is_read_as_before() -> None:
    old = '{"edits": [{"op": "Consume", "o": "ice#1"}]}'
    assert parse_translation(old) == ((Consume("ice#1"),), ())
    new = old[:-1] + ', "motion": [{"o": "ice#1", "law": "shrink"}]}'
    assert parse_translation(new) == ((Consume("ice#1"),), (motion("ice#1", "shrink"),))


def test_every_parameter_of_every_law_has_a_default_or_is_left_to_the_picture() -> None:
    for law in LAWS.values():
        for name, parameter in law.parameters.items():
            assert parameter.default is not None or name in ("to", "dx", "dy", "scale", "path")
            if parameter.default is not None:
                assert parameter_problem(law, name, parameter.default) is None


PATH = ((0.0, 0.0, 0.0, 0.0), (0.5, 0.1, -0.2, 90.0), (1.0, 0.3, 0.1, 180.0))


def test_a_trajectory_passes_through_its_samples_and_ends_where_its_state_is() -> None:
    moving = motion("ball#1", "trajectory", path=PATH, by="simulation")
    way = Way(start=(0.2, 0.3), end=(0.5, 0.4))
    half = moment(moving, way, 0.5)
    assert half.place == pytest.approx((0.3, 0.1))
    assert half.angle == 90.0
    assert moment(moving, way, 0.25).place == pytest.approx((0.25, 0.2))
    elsewhere = Way(start=(0.2, 0.3), end=(0.7, 0.4))  # the keyframe shows it further right
    assert moment(moving, elsewhere, 1.0).place == (0.7, 0.4)
    assert moment(moving, elsewhere, 0.5).place == pytest.approx((0.4, 0.1))


def test_a_trajectory_is_saved_as_plain_numbers_and_says_its_shift() -> None:
    moving = motion("ball#1", "trajectory", path=PATH)
    assert moving.to_json()["path"] == [list(sample) for sample in PATH]
    assert motions_from_json([moving.to_json()]) == (moving,)
    assert moving.shift == (0.3, 0.1)
    assert motion("ball#1", "linear", dx=-0.5).shift == (-0.5, 0.0)
    assert motion("ball#1", "linear").shift is None


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ((), "at least two samples"),
        (((0.0, 0, 0, 0), (0.9, 0, 0, 0)), "end at 1"),
        (((0.0, 0, 0, 0), (0.5, 0, 0, 0), (0.5, 0, 0, 0), (1.0, 0, 0, 0)), "go forward"),
        (((0.0, 0.1, 0, 0), (1.0, 0, 0, 0)), "first sample"),
        (((0.0, 0, 0, 0), (1.0, 9, 0, 0)), "4 heights"),
    ],
)
def test_a_path_that_is_none_is_refused(path: Value, says: str) -> None:
    assert says in str(parameter_problem(LAWS["trajectory"], "path", path))


def test_each_hop_of_a_bounce_is_lower_by_the_spring() -> None:
    moving = motion("ball#1", "bounce", spring=0.5, hops=3)
    way = Way(start=(0.0, 0.0), end=(0.0, 1.0))
    heights = [1 - moment(moving, way, u / 400).place[1] for u in range(401)]
    inner = heights[1:-1]
    peaks = [h for a, h, b in zip(heights, inner, heights[2:], strict=False) if h > a and h >= b]
    assert peaks == pytest.approx([0.5, 0.25, 0.125], abs=0.01)
    assert min(heights) >= -1e-9
