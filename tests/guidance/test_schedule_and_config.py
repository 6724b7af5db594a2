"""When to guide, and settings that say no to what cannot be meant."""

from __future__ import annotations

import pytest

from physplan.errors import PhysPlanError
from physplan.guidance import (
    GuidanceConfig,
    MeasureConfig,
    Schedule,
    register_loss,
)
from physplan.guidance.config import GuidanceConfig as Config


def test_algorithm_one_has_135_repeats_with_the_papers_numbers():
    schedule = Schedule.linear(layout_steps=5, guided_steps=20, repeats=10)
    assert schedule.repeats[:5] == (10,) * 5
    assert schedule.repeats[5:] == (10, 10, 9, 8, 8, 7, 6, 6, 5, 4, 4, 3, 2, 2, 1)
    assert sum(schedule.repeats) == 50 + 85
    assert [schedule.travels(step) for step in (4, 5, 19, 20)] == [False, True, True, False]
    assert schedule.at(20) == schedule.at(49) == 0


def test_a_schedule_can_be_all_layout_or_nothing():
    assert Schedule.linear(layout_steps=3, guided_steps=3, repeats=2).repeats == (2, 2, 2)
    assert Schedule.unguided().at(0) == 0
    assert not Schedule.unguided().travels(0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Schedule.linear(layout_steps=6, guided_steps=5), "between 0 and guided_steps"),
        (lambda: Schedule(repeats=(1, -2), travel=(0, 0)), "-2 times"),
        (lambda: Schedule.linear().check(10), "guides 20 steps, but the video is sampled in 10"),
        (lambda: GuidanceConfig(outside_weight=1.5), "outside_weight"),
        (lambda: Config(gradient="fuzed"), "'exact', 'fused', 'direct'"),  # type: ignore[arg-type]
        (lambda: GuidanceConfig(events_per_repeat=0), "events_per_repeat must be 1 or more"),
        (lambda: GuidanceConfig(combine_at="features"), "set combine_at to clean, or gradient to fused"),
        (lambda: GuidanceConfig(gradient="direct", unconditional_grad=False), "leave unconditional_grad on"),
        (lambda: GuidanceConfig(normalise="whole"), "knows no regions"),
        (
            lambda: GuidanceConfig(normalise="whole", outside_weight=1.0, gradient="fused"),
            "set gradient to exact",
        ),
        (lambda: GuidanceConfig(update="after", reevaluate=True), "set reevaluate to false"),
        (lambda: MeasureConfig(temperature=0), "temperature must be above 0"),
        (lambda: MeasureConfig(instance_level=1), "instance_level"),
        (lambda: MeasureConfig(fill="sometimes"), "fill is 'sometimes'"),  # type: ignore[arg-type]
        (lambda: register_loss("terms"), "exists already"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(make, words):
    with pytest.raises(PhysPlanError, match=words):
        make()


@pytest.mark.parametrize("mode", ["exact", "fused", "direct"])
def test_a_method_changes_its_gradient_mode_without_what_the_new_one_would_ignore(mode):
    fast = GuidanceConfig(gradient="fused", combine_at="features", unconditional_grad=False, step_size=4.0)
    changed = fast.with_gradient(mode)
    assert changed.gradient == mode
    assert changed.step_size == 4
    assert fast.with_gradient("fused") == fast
