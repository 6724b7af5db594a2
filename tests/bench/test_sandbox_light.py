"""The light score: the truth is right, an undrawn effect is missing, an old one is left behind."""

from __future__ import annotations

import numpy as np
import pytest

from physplan_bench.sandbox.light import EffectCount, count_effects
from physplan_bench.sandbox.light_study import ARMS, LightStudy
from physplan_sandbox.world.light import EFFECTS, LitClip, lighting_of, render_lit
from physplan_sandbox.world.phenomena import scene

LAST = 32


@pytest.fixture(scope="module")
def rolled() -> LitClip:
    shown = scene("train", 0, phenomenon="push", variant="tall")
    return render_lit(shown.sprites(), shown.backdrop, lighting_of(shown.name))


def as_bytes(frames: np.ndarray) -> np.ndarray:
    return (frames * 255 + 0.5).astype(np.uint8)


def test_the_truth_has_its_light_right(rolled: LitClip) -> None:
    found = count_effects(as_bytes(rolled.frames), rolled, [LAST])
    assert found["shadow"].new > 20
    assert found["shadow"].gone > 20
    assert all(found[effect].share in (None, 1.0) for effect in EFFECTS)


@pytest.mark.parametrize("effect", ["shadow", "reflection"])
def test_what_a_clip_does_not_draw_is_missing(rolled: LitClip, effect: str) -> None:
    found = count_effects(as_bytes(rolled.without[effect]), rolled, [LAST])
    assert found[effect].right <= 0.2 * found[effect].new


def test_what_stays_from_the_first_frame_is_left_behind(rolled: LitClip) -> None:
    still = np.repeat(rolled.frames[:1], LAST + 1, axis=0)
    found = count_effects(as_bytes(still), rolled, [LAST])["shadow"]
    assert found.left >= 0.9 * found.gone


def test_too_little_of_an_effect_says_nothing() -> None:
    assert EffectCount(new=5, right=5).share is None


def test_a_study_has_a_case_for_every_scene_and_method() -> None:
    study = LightStudy.of_preset(scenes=3)
    assert len({case.name for case in study.cases()}) == 3 * len(ARMS)
    assert len({case.key for case in study.cases()}) == 3 * len(ARMS)


def test_only_lit_arms_depend_on_the_fine_tuned_weights() -> None:
    study = LightStudy.of_preset(scenes=1, arms=("sketch", "storyboard", "sketch:lit"))
    sketch, storyboard, lit = (case.identity["weights"] for case in study.cases())
    assert sketch == storyboard != lit
