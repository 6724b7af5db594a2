"""Moving, growing, adding, removing, changing: drawn pictures, optimised through the encoder."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from physplan.graph import Term
from physplan.guidance import MeasureConfig
from physplan.guidance.comparison import Comparison, compare
from physplan.guidance.objective import measure_frame
from physplan.guidance.paper.terms import centroid, depth_gap
from physplan_testing.optimising import objective_of, optimise
from physplan_testing.pictures import Painter, box, paint
from physplan_testing.stories import BLUE, SIZE, WHITE, Story, stories

STORIES = {story.name.split("(")[0].strip(): story for story in stories()}
MOVES, GROWS, APPEARS, DISAPPEARS, CHANGES, FORWARD = STORIES.values()


def run(story: Story, *terms: Term, sharpen: float = 3.0, **settings: object) -> Tensor:
    """The picture after descending on these terms only, by default with the paper's forms."""
    config = MeasureConfig(without=frozenset(Term) - set(terms), **settings)  # type: ignore[arg-type]
    painter = Painter(story.start, story.target)
    picture, _ = optimise(objective_of(story, config), painter, story.start, steps=160, sharpen=sharpen)
    return picture


def seen(story: Story, picture: Tensor, node: str) -> Comparison:
    objective = objective_of(story, MeasureConfig())
    features = objective.encoder(picture[None])[0]
    return compare(objective.keyframes[0], features, objective.config)[node]


def values(story: Story, picture: Tensor) -> dict[str, float]:
    measured = measure_frame(objective_of(story, MeasureConfig()), 0, picture)
    return {str(term.spec): float(term.value) for term in measured if term.value is not None}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_all_terms_are_zero_at_the_keyframe_and_one_is_not_at_the_start(story):
    at_target = measure_frame(objective_of(story, MeasureConfig()), 0, story.target)
    assert all(term.value is not None and float(term.value) <= 1e-6 for term in at_target)
    assert max(values(story, story.start).values()) > 1e-3


@pytest.mark.parametrize(
    "settings", [{"fill": "log", "suppress": "log"}, {"fill": "log", "fill_matched": "all"}]
)
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_the_other_forms_are_zero_at_the_keyframe_as_well(story, settings):
    at_target = measure_frame(objective_of(story, MeasureConfig(**settings)), 0, story.target)
    assert all(term.value is not None and float(term.value) <= 1e-6 for term in at_target)


def test_position_moves_the_ball_to_its_target():
    wanted = centroid(seen(MOVES, MOVES.target, "ball#1").occupancy)
    before = centroid(seen(MOVES, MOVES.start, "ball#1").occupancy)
    after = seen(MOVES, run(MOVES, Term.POSITION, Term.COUNT), "ball#1")
    assert len(after.preview) == 1
    moved = centroid(after.occupancy * after.on_grid(after.preview.mask(0)))
    assert (before - wanted).norm() > 0.3
    assert (moved - wanted).norm() < 0.05


def test_extent_grows_the_balloon_to_its_area():
    wanted, before, after = (
        seen(GROWS, picture, "balloon#1").occupancy.sum()
        for picture in (GROWS.target, GROWS.start, run(GROWS, Term.EXTENT))
    )
    assert before < 0.3 * wanted
    assert after.item() == pytest.approx(wanted.item(), rel=0.1)


def test_count_lets_the_missing_puddle_appear_where_the_keyframe_has_it():
    after = seen(APPEARS, run(APPEARS, Term.COUNT), "puddle#2")
    assert len(seen(APPEARS, APPEARS.start, "puddle#2").preview) == 0
    assert len(after.preview) == 1
    overlap = (after.preview.labels > 0) & (after.keyframe.labels > 0)
    assert overlap.sum() == after.preview.areas[0]


def test_count_removes_the_consumed_drop():
    assert len(seen(DISAPPEARS, DISAPPEARS.start, "drop#1").preview) == 1
    assert len(seen(DISAPPEARS, run(DISAPPEARS, Term.COUNT), "drop#1").preview) == 0


def test_appearance_chars_the_log():
    assert values(CHANGES, CHANGES.start)["appearance(log#1)"] > 0.3
    assert values(CHANGES, run(CHANGES, Term.APPEARANCE))["appearance(log#1)"] < 0.01


def test_depth_brings_the_cup_in_front():
    gaps = []
    moved = run(FORWARD, Term.DEPTH, Term.COUNT, sharpen=0.0, instance_level=0.1)
    for picture in (FORWARD.start, moved, FORWARD.target):
        nearness = objective_of(FORWARD).keyframes[0].target.nearness
        cup, block = (seen(FORWARD, picture, node).occupancy for node in ("cup#1", "block#2"))
        gaps.append(float(depth_gap((cup, block), nearness)))
    start, after, wanted = gaps
    assert abs(after - wanted) < 0.2 * abs(start - wanted)


def test_filling_matched_instances_completes_a_spawned_object():
    """Eq. 6 is content with one cell of the puddle; `fill_matched` goes on to the keyframe's occupancy."""
    speck = paint(SIZE, (APPEARS.evidence.first.masks["cloud#1"], WHITE), (box(SIZE, 30, 36, 34, 40), BLUE))
    counts = []
    for fill_matched in ("none", "spawned", "all"):
        measured = measure_frame(objective_of(APPEARS, MeasureConfig(fill_matched=fill_matched)), 0, speck)
        counts.append({str(term.spec): float(term.value) for term in measured if term.value is not None})
    assert counts[0]["count(puddle#2)"] == 0
    assert counts[1]["count(puddle#2)"] > 0.8
    assert [count["count(cloud#1)"] for count in counts] == [0, 0, pytest.approx(0, abs=1e-6)]


def test_outside_the_regions_nothing_moves_at_lambda_zero():
    picture = run(MOVES, Term.POSITION, Term.COUNT)
    objective = objective_of(MOVES, MeasureConfig())
    regions = [term.region for term in measure_frame(objective, 0, MOVES.start) if term.region is not None]
    inside = torch.stack(regions).amax(0).bool()
    painter = Painter(MOVES.start, MOVES.target)
    start = painter.decode(painter.encode(MOVES.start), sharpness=4.0)
    assert (picture - start).abs()[:, ~inside].max() < 1e-5
