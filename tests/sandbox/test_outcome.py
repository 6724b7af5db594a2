"""The judge of the sandbox: what happened in a video, and what was left alone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from physplan_sandbox.outcome import judge, judge_events
from physplan_sandbox.truth import true_chain
from physplan_sandbox.world.phenomena import one_of_each, scene, scenes
from physplan_sandbox.world.scene import DistractorChange, Scene


@pytest.fixture(autouse=True)
def _rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge draws all outcomes of a scene for every video of it."""
    monkeypatch.setattr(Scene, "__hash__", object.__hash__)
    monkeypatch.setattr(Scene, "__eq__", object.__eq__)
    monkeypatch.setattr(Scene, "render", lru_cache(16)(Scene.render))


def test_every_simulated_outcome_is_recognised_also_in_another_take() -> None:
    wrong = []
    for chosen in one_of_each("validation", 7):
        for outcome in chosen.outcomes:
            video = chosen.render(outcome, take=3).frames / np.float32(255)
            verdict = judge(chosen, video)
            if verdict.outcome != outcome or verdict.plausible != (outcome == chosen.plausible):
                wrong.append((chosen.name, outcome, verdict.outcome))
    assert not wrong


def test_a_meddled_object_is_not_preserved() -> None:
    seen = 0
    for chosen in scenes("validation", 12):
        for target in chosen.distractors:
            for kind in ("vanish", "recolour"):
                change = DistractorChange(target=target, kind=kind, color=(0.0, 1.0, 1.0))
                video = chosen.render(change=change).frames / np.float32(255)
                assert not judge(chosen, video).preserved, (chosen.name, target, kind)
                seen += 1
    assert seen > 20


def test_a_blurred_truth_is_still_the_truth() -> None:
    from scipy import ndimage

    for chosen in scenes("validation", 12):
        video = ndimage.gaussian_filter(chosen.render().frames / np.float32(255), (0, 1.0, 1.0, 0))
        assert judge(chosen, video).plausible


@pytest.mark.parametrize(
    ("name", "variant", "outcome", "wanted"),
    [
        ("behind", "stopped", "stays", [None, True]),  # while the ball is out of sight nothing can be told
        ("behind", "stopped", "passes", [None, False]),  # it should have stayed there
        ("behind", "twins", "swaps", [None, True, True]),
        ("behind", "twins", "passes", [None, False, False]),
        ("overflow", "glass", "stays", [None, True, False]),  # it ran over, but the boat did not move
        ("overflow", "glass", "holds", [None, False, False]),
        ("ramp", "tall", "stops", [None, True, False, False]),
        ("cascade", "cloth", "soaks", [None, True, True, True]),
        ("cascade", "cloth", "spreads", [None, True, False, False]),  # the water missed the cloth
        ("cascade", "tray", "stands", [None, False, False]),
        (
            "seesaw",
            "crate",
            "sticks",
            [True, False, False, False],
        ),  # the weight fell, the ball was not thrown
        ("seesaw", "table", "floats", [None, True, False, False]),
        ("balance", "twin", "sinks", [None, True, True, True]),
        ("balance", "apple", "levels", [None, False, False]),
    ],
)
def test_each_event_is_judged_by_what_can_be_seen_until_its_anchor(
    name: str, variant: str, outcome: str, wanted: list[bool | None]
) -> None:
    chosen = scene("validation", 6, phenomenon=name, variant=variant)
    video = chosen.render(outcome, take=2).frames / np.float32(255)
    assert judge_events(chosen, video, true_chain(chosen).anchors) == wanted
