"""The verification against the judge: what a score and a "holds" are worth."""

from __future__ import annotations

import numpy as np
import pytest

from physplan_bench.sandbox.verdicts import against_judge, area_under_curve


def test_the_area_is_the_share_of_pairs_in_the_right_order() -> None:
    right = np.array([True, True, False, False])
    assert area_under_curve(np.array([0.9, 0.8, 0.2, 0.1]), right) == 1
    assert area_under_curve(np.array([0.1, 0.2, 0.8, 0.9]), right) == 0
    assert area_under_curve(np.array([0.5, 0.5, 0.5, 0.5]), right) == 0.5
    assert area_under_curve(np.array([0.9, 0.3, 0.4, 0.1]), right) == 0.75


def test_precision_and_recall_are_of_holds_with_intervals_over_scenes() -> None:
    scores = [0.9, 0.8, 0.7, 0.2, 0.1, 0.6]
    holds = [True, True, True, False, False, True]
    right = [True, True, False, True, False, True]
    found = against_judge(scores, holds, right, [1, 2, 3, 4, 5, 6], resamples=200)
    assert found["precision"]["value"] == 0.75
    assert found["recall"]["value"] == 0.75
    assert found["right"] == pytest.approx(4 / 6)
    assert found["precision"]["low"] <= 0.75 <= found["precision"]["high"]


def test_where_all_are_right_there_is_no_area() -> None:
    found = against_judge([0.1, 0.9], [False, True], [True, True], [1, 2], resamples=50)
    assert found["area_under_curve"] is None
    assert found["recall"]["value"] == 0.5


def test_a_figure_of_few_scenes_of_a_kind_has_an_exact_interval_or_none() -> None:
    """Twenty scenes, of which three have a right video that was said to hold: three carry precision."""
    right = [scene < 3 for scene in range(20)]
    scores = np.linspace(0, 1, 20)
    found = against_judge([float(s) for s in scores], right, right, list(range(20)), resamples=100)
    assert found["area_under_curve"]["low"] is None
    for figure in ("precision", "recall"):
        assert found[figure]["value"] == 1
        assert found[figure]["low"] == pytest.approx(0.025 ** (1 / 3))  # Clopper-Pearson, three of three
