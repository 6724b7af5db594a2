"""The three gradient modes on a tiny CogVideoX, against plain autograd through the whole graph."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from physplan.guidance import GuidanceConfig, MeasureConfig
from physplan.guidance.gradients.direction import Direction, direction
from physplan.guidance.measurement import Measured
from physplan.guidance.objective import measure_frame
from physplan.guidance.paper.regions import pool
from physplan.guidance.paper.selection import TermSpec
from physplan.guidance.paper.update import normalised, region_weights
from physplan.guidance.previews import anchors_of
from physplan.guidance.repeat import anchor_windows

# A random decoder shows grey mush: a low threshold finds something in it.
MUSH = MeasureConfig(threshold=0.3)
CONFIG = GuidanceConfig(measure=MUSH, outside_weight=0.2)
STEP = 1


@pytest.fixture(scope="module")
def setting(model, prepare, chain):
    conditioning, _ = prepare()
    return model, conditioning, anchor_windows(model, conditioning, chain.anchors, CONFIG)


def run(setting, objective, config: GuidanceConfig, *, weighted: bool = True, windows=None) -> Direction:
    model, conditioning, found = setting
    return direction(
        model,
        conditioning,
        conditioning.latents,
        STEP,
        requests=anchors_of(objective, found if windows is None else windows),
        config=config,
        weighted=weighted,
    )


def naive(setting, objective, config: GuidanceConfig) -> list[tuple[Measured, Tensor, Tensor]]:
    """Every active term with its gradient at z_t and at z0, from one graph over all anchors."""
    model, conditioning, windows = setting
    z = conditioning.latents.clone().requires_grad_()
    prediction = model.predict(z, STEP, conditioning, unconditional_grad=config.unconditional_grad)
    clean = conditioning.noise.clean_estimate(z, prediction, STEP)
    found = []
    for event, window in windows.items():
        frame = model.decode_window(clean[:, :, window.latents], window)
        for term in measure_frame(objective, event, frame):
            if term.value is not None and term.value.requires_grad and term.value > config.measure.satisfied:
                noisy, at_clean = torch.autograd.grad(term.value, (z, clean), retain_graph=True)
                found.append((term, noisy, at_clean))
    return found


def weights(term: Measured, like: Tensor, outside: float) -> Tensor:
    return region_weights(pool(term.region, like.shape[-2:]), outside)


def test_exact_is_equation_ten(setting, objective_for):
    objective = objective_for(CONFIG)
    terms = naive(setting, objective, CONFIG)
    assert len({term.spec.event for term, *_ in terms}) == 2
    assert len(terms) >= 4
    expected = sum(t.spec.weight * weights(t, g, 0.2) * normalised(g) for t, g, _ in terms)
    torch.testing.assert_close(run(setting, objective, CONFIG).gradient, expected, rtol=1e-4, atol=1e-6)
    unweighted = sum(t.spec.weight * normalised(g) for t, g, _ in terms)
    found = run(setting, objective, CONFIG, weighted=False)
    torch.testing.assert_close(found.gradient, unweighted, rtol=1e-4, atol=1e-6)


def test_direct_is_the_normalised_sum_at_the_clean_latent(setting, objective_for):
    config = replace(CONFIG, gradient="direct")
    objective = objective_for(config)
    expected = sum(
        t.spec.weight * weights(t, g, 0.2) * normalised(g) for t, _, g in naive(setting, objective, config)
    )
    torch.testing.assert_close(run(setting, objective, config).gradient, expected, rtol=1e-4, atol=1e-6)


def test_fused_passes_that_sum_back_once_and_keeps_its_length(setting, objective_for):
    config = replace(CONFIG, gradient="fused")
    objective = objective_for(config)
    total = sum(
        t.spec.weight * weights(t, g, 0.2) * normalised(g) for t, _, g in naive(setting, objective, config)
    )
    model, conditioning, _ = setting
    z = conditioning.latents.clone().requires_grad_()
    clean = conditioning.noise.clean_estimate(z, model.predict(z, STEP, conditioning), STEP)
    (back,) = torch.autograd.grad(clean, z, total)
    expected = normalised(back) * total.norm()
    torch.testing.assert_close(run(setting, objective, config).gradient, expected, rtol=1e-3, atol=1e-6)


def test_one_term_is_the_same_direction_in_exact_and_fused(setting, objective_for):
    def only(config: GuidanceConfig) -> Tensor:
        full = objective_for(config)

        class One:
            encode = full.encode

            def measure(self, event, encoded):
                return tuple(m for m in full.measure(event, encoded) if str(m.spec) == "count(tray#2)")[:1]

        windows = {0: setting[2][0]}
        return run(setting, One(), config, weighted=False, windows=windows).gradient

    torch.testing.assert_close(only(CONFIG), only(replace(CONFIG, gradient="fused")), rtol=1e-3, atol=1e-6)


def test_combining_at_the_features_needs_one_decoder_pass_per_anchor(setting, objective_for, monkeypatch):
    from physplan.guidance.previews import Preview

    passes, back = [], Preview.back
    monkeypatch.setattr(
        Preview, "back", lambda self, *a, **k: passes.append(self.event) or back(self, *a, **k)
    )
    config = replace(CONFIG, gradient="fused", combine_at="features")
    found = run(setting, objective_for(config), config)
    assert passes == [0, 1]
    assert found.gradient.norm() > 0
    assert sum(term.gradient_norm is not None for term in found.terms) >= 4


@pytest.mark.parametrize("mode", ["exact", "fused", "direct"])
def test_saved_activations_do_not_grow_with_the_number_of_events(setting, objective_for, mode):
    config = replace(CONFIG, gradient=mode)
    windows = setting[2]
    objective = objective_for(config)

    class Copies:
        def encode(self, event, frame):
            return objective.encode(0, frame)

        def measure(self, event, encoded):
            return objective.measure(0, encoded)

    peaks = []
    for count in (1, 3):
        many = dict.fromkeys(range(count), windows[0])
        peaks.append(saved_bytes(lambda many=many: run(setting, Copies(), config, windows=many)))
    assert peaks[1] <= 1.1 * peaks[0]


def saved_bytes(function) -> int:
    from physplan_testing.saved_bytes import peak_saved_bytes

    return peak_saved_bytes(function)


def test_without_gradient_in_the_unconditional_branch_the_gradient_differs_but_is_usable(
    setting, objective_for
):
    config = replace(CONFIG, unconditional_grad=False)
    objective = objective_for(config)
    terms = naive(setting, objective, config)
    expected = sum(t.spec.weight * weights(t, g, 0.2) * normalised(g) for t, g, _ in terms)
    torch.testing.assert_close(run(setting, objective, config).gradient, expected, rtol=1e-4, atol=1e-6)
    both = run(setting, objective, CONFIG).gradient
    assert not torch.allclose(expected, both, rtol=1e-2)


class Broken:
    """One good term and others that are not: a NaN value, a NaN gradient, a skipped one."""

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {"frame": frame}

    def measure(self, event: int, encoded: dict[str, Tensor]) -> tuple[Measured, ...]:
        frame = encoded["frame"]
        mean = frame.mean()
        return (
            Measured(spec=TermSpec(event=event, name="good"), value=(frame**2).mean()),
            Measured(spec=TermSpec(event=event, name="nan value"), value=mean * float("nan")),
            Measured(
                spec=TermSpec(event=event, name="nan gradient"), value=torch.sqrt(mean - mean.detach()) + 1
            ),
            Measured(spec=TermSpec(event=event, name="empty"), skipped="nothing there"),
        )


@pytest.mark.parametrize(
    ("mode", "combine"),
    [
        ("exact", "clean"),
        ("fused", "clean"),
        ("fused", "features"),
        ("direct", "clean"),
        ("direct", "features"),
    ],
)
def test_broken_terms_are_skipped_and_reported_and_the_rest_goes_on(setting, mode, combine):
    class Good(Broken):
        def measure(self, event, encoded):
            return super().measure(event, encoded)[:1]

    config = replace(CONFIG, gradient=mode, combine_at=combine)
    found = run(setting, Broken(), config)
    torch.testing.assert_close(found.gradient, run(setting, Good(), config).gradient, rtol=1e-4, atol=1e-6)
    reasons = {term.term: term.skipped for term in found.terms if term.event == 0}
    assert reasons == {
        "good": None,
        "nan value": "its value is NaN or infinite",
        "nan gradient": "its gradient is NaN or infinite",
        "empty": "nothing there",
    }


def test_the_given_pictures_own_latents_are_never_moved(load, prepare, chain, objective_for):
    model = load("wan22_5b")  # its first latent is the picture
    conditioning, _ = prepare(of=model)
    for mode in ("exact", "fused", "direct"):
        config = replace(CONFIG, gradient=mode)
        windows = {0: conditioning.layout.window(3), 1: conditioning.layout.window(9)}
        found = run((model, conditioning, windows), objective_for(config), config)
        assert conditioning.noise.frozen == 1
        assert not found.gradient[:, :, 0].any()
        assert found.gradient[:, :, 1:].norm() > 0
