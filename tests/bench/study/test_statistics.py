"""The study's statistics against textbook values and against another implementation."""

from __future__ import annotations

import numpy as np
import pytest

from physplan_bench.bootstrap import Interval, clopper_pearson
from physplan_bench.study.statistics import (
    binomial_p,
    bradley_terry,
    crossed_bootstrap,
    krippendorff_alpha,
    wilson,
)


def width(interval: Interval) -> float:
    assert interval.bounds is not None
    return interval.bounds[1] - interval.bounds[0]


def test_wilsons_interval_is_the_textbooks() -> None:
    found = wilson(81, 263)
    assert (found.low, found.high) == pytest.approx((0.2553, 0.3662), abs=1e-4)  # Newcombe 1998, table I
    assert wilson(0, 20).low == 0.0
    assert wilson(20, 20).high == 1.0


def test_an_even_split_is_no_evidence_and_all_of_ten_is() -> None:
    assert binomial_p(5, 10) == 1.0
    assert binomial_p(10, 10) == pytest.approx(2 / 1024)
    assert binomial_p(7, 10) == binomial_p(3, 10) == pytest.approx(0.34375)
    assert 0 < binomial_p(1728, 2400) < 1e-90  # the paper's 72 %


def test_votes_of_few_people_make_a_wider_interval_than_wilsons() -> None:
    votes = np.full((4, 30), 1.0)
    wins = np.zeros((4, 30))
    wins[:3] = 1  # three people always choose the first, one never
    wide, narrow = crossed_bootstrap(wins, votes), wilson(90, 120)
    assert wide.value == narrow.value == 0.75
    assert width(wide) > 2 * width(narrow)


def test_the_interval_holds_the_true_rate_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    held = 0
    for number in range(60):
        truth = 0.65
        people = np.clip(truth + rng.normal(0, 0.1, (20, 1)) + rng.normal(0, 0.1, (1, 15)), 0, 1)
        wins = (rng.random((20, 15)) < people).astype(float)
        found = crossed_bootstrap(wins, np.ones((20, 15)), seed=number)
        held += found.low <= truth <= found.high
    assert held >= 52


def test_alpha_is_krippendorffs_example() -> None:
    """The nominal example of his 2011 text: four observers, twelve units, values 1 to 5; alpha 0.743."""
    rows = [
        "1 2 3 3 2 1 4 1 2 * * *",
        "1 2 3 3 2 2 4 1 2 5 * 3",
        "* 3 3 3 2 3 4 2 2 5 1 *",
        "1 2 3 3 2 4 4 1 2 5 1 *",
    ]
    counts = np.zeros((12, 5))
    for row in rows:
        for unit, value in enumerate(row.split()):
            if value != "*":
                counts[unit, int(value) - 1] += 1
    assert krippendorff_alpha(counts) == pytest.approx(0.743, abs=5e-4)


def test_alpha_is_one_for_full_agreement_zero_for_chance_and_none_without_evidence() -> None:
    assert krippendorff_alpha(np.array([[5, 0], [0, 5]])) == 1.0
    rng = np.random.default_rng(0)
    heads = rng.binomial(30, 0.5, 2000)
    assert krippendorff_alpha(np.stack([heads, 30 - heads], 1)) == pytest.approx(0, abs=0.01)
    assert krippendorff_alpha(np.array([[5, 0], [3, 0]])) is None
    assert krippendorff_alpha(np.array([[1, 0], [0, 1]])) is None


def test_scores_of_two_methods_are_the_log_odds() -> None:
    score = bradley_terry(np.array([[0, 72.0], [28.0, 0]]))
    assert score[0] - score[1] == pytest.approx(np.log(72 / 28))
    assert score.sum() == pytest.approx(0)


def test_scores_find_the_strengths_that_made_the_votes() -> None:
    truth = np.array([0.9, 0.1, -0.3, -0.7])
    chance = 1 / (1 + np.exp(truth[None] - truth[:, None]))
    wins = 1000 * chance * (1 - np.eye(4))
    assert bradley_terry(wins) == pytest.approx(truth)
    assert bradley_terry(np.stack([wins, wins.T])) == pytest.approx(np.stack([truth, -truth]))


def test_a_method_that_always_wins_gets_a_finite_score() -> None:
    score = bradley_terry(np.array([[0, 50.0], [0, 0]]), prior=0.5)
    assert score[0] - score[1] == pytest.approx(np.log(50.5 / 0.5))


def test_scores_and_alpha_agree_with_evalica() -> None:
    evalica, pandas = pytest.importorskip("evalica"), pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    methods = np.array(["a", "b", "c"])
    left, right = rng.integers(3, size=(2, 600))
    left, right = left[left != right], right[left != right]
    won = rng.random(len(left)) < 1 / (1 + np.exp((left - right) * 0.5))
    wins = np.zeros((3, 3))
    np.add.at(wins, (np.where(won, left, right), np.where(won, right, left)), 1)
    winners = [evalica.Winner.X if one else evalica.Winner.Y for one in won]
    theirs = evalica.bradley_terry(methods[left], methods[right], winners, tolerance=1e-10).scores
    theirs = np.log([theirs[name] for name in methods])
    assert bradley_terry(wins) == pytest.approx(theirs - theirs.mean(), abs=1e-5)
    ratings = rng.integers(2, size=(5, 20)).astype(float)  # raters, units
    counts = np.stack([(ratings == value).sum(0) for value in (0, 1)], 1)
    theirs = evalica.alpha(pandas.DataFrame(ratings), distance="nominal").alpha
    assert krippendorff_alpha(counts) == pytest.approx(theirs)


def test_three_votes_for_the_same_are_no_certainty() -> None:
    found = crossed_bootstrap(np.eye(3), np.eye(3))  # three people, a prompt each
    assert found.value == 1.0
    assert found.bounds == pytest.approx((0.2924, 1.0), abs=1e-4)  # Clopper and Pearson, 3 of 3
    many = crossed_bootstrap(np.ones((10, 6)), np.ones((10, 6)))
    assert many.bounds == pytest.approx((0.5407, 1.0), abs=1e-4)  # 6 of 6


def test_the_exact_interval_is_the_textbooks() -> None:
    assert clopper_pearson(81 / 263, 263).bounds == pytest.approx((0.2527, 0.3676), abs=1e-4)  # Newcombe 1998
