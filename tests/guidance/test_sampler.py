"""Algorithm 1 on tiny real models: order of operations, reproducibility, callbacks, reports."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.guidance import (
    ABLATIONS,
    FRAME_GUIDANCE,
    GuidanceConfig,
    GuidanceResult,
    Guide,
    MeasureConfig,
    Progress,
    Schedule,
    StopRun,
    guide,
    register_loss,
)
from physplan.guidance.losses import LOSSES
from physplan.guidance.previews import anchors_of
from physplan.guidance.repeat import events_of
from physplan.video.frames import Window
from physplan.video.sampling import draw_noise, sample
from physplan_testing.pictures import ColourFeatures, ground_depth

SHORT = Schedule.linear(layout_steps=1, guided_steps=2, repeats=2)
CONFIG = GuidanceConfig(
    measure=MeasureConfig(threshold=0.3), schedule=SHORT, gradient="direct", combine_at="features"
)
UNGUIDED = replace(CONFIG, schedule=Schedule.unguided())


@pytest.fixture
def run(model, prepare, chain, evidence):
    def go(config: GuidanceConfig = CONFIG, *, seed: int = 0, of=model, **options) -> GuidanceResult:
        conditioning, generator = prepare(seed=seed, of=of, steps=options.pop("steps", 3))
        return guide(
            of,
            conditioning,
            Guide(chain=options.pop("chain", chain), evidence=evidence, config=config),
            encoder=ColourFeatures(),
            depth=ground_depth,
            generator=generator,
            **options,
        )

    return go


def test_base_is_the_unguided_loop(run, model, prepare):
    result = run(UNGUIDED)
    torch.testing.assert_close(result.latents, sample(model, prepare(steps=3)[0]), rtol=0, atol=0)
    assert result.steps == ()


def test_a_seed_gives_the_same_latents_and_another_seed_others(run):
    first, again, other = run(seed=1), run(seed=1), run(seed=2)
    assert torch.equal(first.latents, again.latents)
    assert not torch.allclose(first.latents, other.latents)


@pytest.mark.parametrize("name", ["whole", "frame_guidance", *ABLATIONS])
def test_every_guidance_runs_and_reports_all_repeats(run, name):
    own = replace(FRAME_GUIDANCE, schedule=SHORT)
    config = {"whole": CONFIG, "frame_guidance": own}.get(name) or ABLATIONS[name](CONFIG)
    result = run(config)
    assert result.latents.isfinite().all()
    assert [step.repeat for step in result.steps] == [0, 1, 0, 1]


@pytest.mark.parametrize("mode", ["exact", "fused", "direct"])
def test_guidance_lowers_the_loss_it_descends_on(run, mode):
    """The whole-frame loss is smooth, so that falling from repeat to repeat can be asked of it."""
    config = GuidanceConfig(
        losses=("whole_frame",),
        schedule=Schedule(repeats=(0, 0, 0, 5), travel=(9, 9)),
        step_size=0.5,
        gradient=mode,
        outside_weight=1.0,
    )
    totals = [sum(term.value or 0 for term in step.terms) for step in run(config, steps=4).steps]
    assert totals[-1] < totals[0]


def test_time_travel_follows_algorithm_one(model, prepare, chain, evidence, run):
    """The detail stage by hand: reverse step from the updated latent with v reused, then re-noise."""
    config = replace(CONFIG, schedule=Schedule(repeats=(0, 1), travel=(1, 1)), outside_weight=0.0)
    result = run(config, steps=3)
    conditioning, generator = prepare(steps=3)
    z, noise = conditioning.latents, conditioning.noise
    from physplan.guidance.gradients.direction import direction
    from physplan.guidance.objective import build_objective
    from physplan.guidance.repeat import anchor_windows

    objective = build_objective(
        config.losses,
        chain,
        evidence,
        encoder=ColourFeatures(),
        depth=ground_depth,
        size=(32, 32),
        device=torch.device("cpu"),
        config=config.measure,
    )
    windows = anchor_windows(model, conditioning, chain.anchors, config)
    with torch.no_grad():
        z = noise.step(z, model.predict(z, 0, conditioning), 0)
    found = direction(
        model,
        conditioning,
        z,
        1,
        requests=anchors_of(objective, windows),
        config=config,
        weighted=False,
    )
    v = found.prediction
    following = noise.step(z - config.step_size * found.gradient, v, 1)
    z = noise.renoise(following, 1, draw_noise(z, generator))  # type: ignore[attr-defined]
    for n in (1, 2):
        with torch.no_grad():
            z = noise.step(z, model.predict(z, n, conditioning), n)
    torch.testing.assert_close(result.latents, z, rtol=1e-4, atol=1e-5)
    for change in ({"update": "after"}, {"reevaluate": True}):
        assert not torch.allclose(run(replace(config, **change), steps=3).latents, z, atol=1e-4)


def test_the_callback_sees_previews_terms_and_regions(run):
    seen: list[Progress] = []
    run(on_progress=seen.append)
    assert [(p.step, p.repeat, p.stage) for p in seen] == [
        (0, 0, "layout"),
        (0, 1, "layout"),
        (0, None, "layout"),
        (1, 0, "detail"),
        (1, 1, "detail"),
        (1, None, "detail"),
        (2, None, "unguided"),
    ]
    first = seen[0]
    assert {event: tuple(frame.shape) for event, frame in first.previews.items()} == {
        0: (3, 32, 32),
        1: (3, 32, 32),
    }
    assert not any(frame.requires_grad for frame in first.previews.values())
    measured = [term for term in first.terms if term.gradient_norm is not None]
    assert measured
    assert all(first.regions[term.label].shape == first.clean.shape[-2:] for term in measured)


def test_the_time_of_a_run_is_told_apart(run):
    spent = run().seconds
    assert min(spent.previews, spent.backpropagation, spent.sampling) > 0
    assert run(UNGUIDED).seconds.previews == 0


def test_returning_false_ends_guidance_and_finishes_the_video(run, model, prepare):
    result = run(on_progress=lambda progress: progress.step > 0 or progress.repeat != 0)
    assert result.ended == "unguided by request"
    assert len(result.steps) == 1
    assert result.latents.isfinite().all()


def test_stop_run_ends_with_the_clean_estimate_so_far(run):
    kept: list[Tensor] = []

    def stop(progress: Progress) -> None:
        kept.append(progress.clean)
        if progress.step == 1:
            raise StopRun

    result = run(on_progress=stop)
    assert result.ended == "stopped by request"
    assert torch.equal(result.latents, kept[-1])


def test_the_result_is_json_with_every_loss_even_when_some_are_nan(run, tmp_path):
    name = "nan once"
    register_loss(name)(lambda frame, event, keyframe: (frame.mean() * float("nan"), None))
    try:
        result = run(replace(CONFIG, losses=("terms", name)))
    finally:
        del LOSSES[name]
    write_json(tmp_path / "losses.json", result.to_json())
    read = json.loads((tmp_path / "losses.json").read_text())
    assert [(s["step"], s["repeat"]) for s in read["steps"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert read["skipped"][f"event 1, {name}(): its value is NaN or infinite"] == 4
    values = [term["value"] for step in read["steps"] for term in step["terms"]]
    assert any(isinstance(value, float) and math.isfinite(value) for value in values)


def test_a_loss_of_the_users_own_joins_the_objective_with_its_region(run):
    seen: list[Progress] = []
    top = torch.zeros(4, 4)
    top[:2] = 1

    @register_loss("darker")
    def darker(frame, event, keyframe):
        assert keyframe.image.shape[0] == 3
        assert event.anchor in (6, 13)
        return frame.mean(), top

    config = replace(
        CONFIG, losses=("darker",), outside_weight=0.0, schedule=Schedule(repeats=(1,), travel=(9, 9))
    )
    try:
        result = run(config, on_progress=seen.append, steps=2)
    finally:
        del LOSSES["darker"]
    assert [term.term for term in result.steps[0].terms] == ["darker", "darker"]
    assert torch.equal(seen[0].regions["event 1, darker()"], top)


def test_a_smaller_preview_is_decoded_from_a_smaller_latent(run):
    seen: list[Progress] = []
    result = run(replace(CONFIG, preview_downscale=2), on_progress=seen.append)
    assert seen[0].previews[0].shape == (3, 16, 16)
    assert result.latents.isfinite().all()


@pytest.mark.parametrize(
    "family", ["wan", "ltx", "ltx2", "hunyuan15", "framepack", pytest.param("svd", marks=pytest.mark.slow)]
)
def test_other_families_are_guided_by_the_same_loop(run, load, family):
    schedule = Schedule(repeats=(1, 1), travel=(1, 1))
    result = run(replace(CONFIG, gradient="fused", schedule=schedule), of=load(family), steps=2)
    assert result.latents.isfinite().all()
    assert min(step.update_norm for step in result.steps) > 0


def test_events_can_take_turns(run):
    steps = run(replace(CONFIG, events_per_repeat=1)).steps
    assert [{term.event for term in step.terms} for step in steps] == [{0}, {1}, {0}, {1}]
    windows = dict.fromkeys(range(5), Window(frame=0, latents=slice(0, 3), index=0))
    assert [list(events_of(repeat, windows, 2)) for repeat in range(3)] == [[0, 1], [2, 3], [4, 0]]
    assert list(events_of(7, windows, None)) == [0, 1, 2, 3, 4]


def test_a_plan_for_another_length_is_refused(run, chain):
    from tests.scenes import melting_chain

    with pytest.raises(PhysPlanError, match="plan is for 9 frames, but the video has 17"):
        run(chain=melting_chain(9))


def test_an_unknown_loss_is_answered_with_the_nearest(run):
    with pytest.raises(PhysPlanError, match="Did you mean 'whole_frame'"):
        run(replace(CONFIG, losses=("wholeframe",)))


@dataclass
class Held:
    """A start that puts the same latents in until step `free`."""

    first: int = 1
    free: int = 3
    value: float = 0.25

    def enter(self, z: Tensor, n: int) -> Tensor:
        return torch.full_like(z, self.value) if n < self.free else z


ON_SKETCH = replace(CONFIG, start="sketch", schedule=Schedule(repeats=(2, 1), travel=(0, -1)))


def test_guidance_begins_where_the_start_is_let_go(run):
    result = run(ON_SKETCH, steps=5, start=Held())
    assert [(step.step, step.repeat) for step in result.steps] == [(2, 0), (2, 1), (3, 0)]
    assert result.planned == result.repeats == 3


def test_repeats_end_when_every_term_is_satisfied_and_move_nothing(run, model, prepare, chain):
    easy = replace(CONFIG.measure, satisfied=1e6)
    config = replace(
        ON_SKETCH, until="satisfied", measure=easy, schedule=Schedule(repeats=(4, 4), travel=(0, 5))
    )
    result = run(config, steps=5, start=Held())
    assert [step.step for step in result.steps] == [2, 3], "one look at all events in each step"
    alone = sample(model, prepare(steps=5)[0], start=Held())
    torch.testing.assert_close(result.latents, alone, rtol=0, atol=0)
    assert result.to_json()["repeats"] == 2
    assert result.to_json()["planned_repeats"] == 8
    by_turns = run(replace(config, events_per_repeat=1), steps=5, start=Held())
    assert len(by_turns.steps) == 2 * len(chain.events), "every event is looked at before a step ends"


def test_a_term_may_have_a_limit_of_its_own(run):
    limits = {"count": 1e6}
    config = replace(CONFIG, measure=replace(CONFIG.measure, satisfied_by=limits))
    moved = [term for step in run(config).steps for term in step.terms if term.gradient_norm is not None]
    assert moved
    assert all(term.term != "count" for term in moved)


def test_a_start_that_is_missing_or_not_wanted_is_refused(run):
    with pytest.raises(PhysPlanError, match="set start to noise"):
        run(ON_SKETCH)
    with pytest.raises(PhysPlanError, match="set start to noise"):
        run(CONFIG, start=Held())
    with pytest.raises(PhysPlanError, match="the clocks of a sketch"):
        replace(CONFIG, weak=0.1)
