"""How real a video looks: flicker, edges, and the Frechet distance of clip features to true videos."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

from physplan_bench.frechet.distance import fit, frechet_distance
from physplan_bench.sandbox.realism import (
    busy_pixels,
    clip_features,
    edge_energy,
    flicker,
    frechet_to_truth,
    jackknife_error,
)
from physplan_bench.sandbox.summary import realism


def test_the_distance_is_the_textbooks_formula() -> None:
    rng = np.random.default_rng(0)
    one, two = (fit(rng.normal(size=(90, 6)) @ rng.normal(size=(6, 6)) + k) for k in (0, 1))
    root = sqrtm(one.covariance @ two.covariance).real
    expected = np.square(one.mean - two.mean).sum() + np.trace(one.covariance + two.covariance - 2 * root)
    assert frechet_distance(one, two) == pytest.approx(expected, rel=1e-9)


def test_even_change_does_not_flicker_and_every_second_frame_does() -> None:
    ramp = np.repeat(np.arange(0, 100, 10, dtype=np.uint8), 4 * 4 * 3).reshape(10, 4, 4, 3)
    blinking = ramp * 0
    blinking[::2] = 51  # a fifth of the range
    assert flicker(ramp) == pytest.approx(0, abs=1e-12)
    assert flicker(blinking) == pytest.approx(0.4)


def test_blur_takes_edges_away_where_something_happens() -> None:
    sharp = np.zeros((3, 8, 8, 3), np.uint8)
    sharp[1:, :, 4:] = 200
    where = busy_pixels(sharp)
    assert where[:, 4:].all()
    assert not where[:, :4].any()
    soft = sharp.copy()
    soft[1:, :, 3], soft[1:, :, 4], soft[1:, :, 5] = 40, 90, 150
    assert edge_energy(soft, where) != edge_energy(sharp, where)
    assert edge_energy(sharp[:1].repeat(3, axis=0), where) == 0
    assert busy_pixels(sharp * 0).all()


def test_a_clip_is_described_by_its_look_and_its_steps() -> None:
    maps = np.zeros((3, 2, 1, 1))
    maps[:, 0, 0, 0] = [0, 3, 0]
    maps[:, 1, 0, 0] = 5
    found = clip_features(maps)
    assert found["look"].tolist() == [1, 5]
    assert found["step"].tolist() == [3, 0]


def clips(count: int, *, seed: int, shift: float = 0.0, width: int = 60) -> list[dict[str, list[float]]]:
    """Vectors that vary along few directions, as those of true videos do."""
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(9).normal(size=(5, width))
    look = rng.normal(size=(count, 5)) @ mixing
    look[:, 0] += shift
    step = 0.01 * rng.normal(size=(count, 5)) @ mixing
    return [{"look": a.tolist(), "step": b.tolist()} for a, b in zip(look, step, strict=True)]


def test_clips_like_the_true_ones_are_near_and_others_are_far() -> None:
    true, scenes = clips(80, seed=0), list(range(80))
    same = frechet_to_truth(true, true, scenes)
    near = frechet_to_truth(clips(80, seed=1), true, scenes)
    far = frechet_to_truth(clips(80, seed=1, shift=40.0), true, scenes)
    assert same.value == pytest.approx(0, abs=1e-6)
    assert near.value < 40 < far.value / 2
    assert far.low < far.value < far.high


def test_what_no_true_video_does_shows_as_well() -> None:
    """Steps are a hundredth of looks, and along a direction of its own: both still count."""
    true, scenes = clips(80, seed=0), list(range(80))
    odd = clips(80, seed=0)
    direction = np.random.default_rng(3).normal(size=60)
    for clip in odd:
        clip["step"] = (np.array(clip["step"]) + 0.02 * direction).tolist()
    assert frechet_to_truth(odd, true, scenes).value > 20


def test_the_units_of_a_network_do_not_matter() -> None:
    true, other = clips(40, seed=0), clips(40, seed=1, shift=10.0)

    def scaled(given: list[dict[str, list[float]]]) -> list[dict[str, list[float]]]:
        return [{part: [7 * v for v in values] for part, values in clip.items()} for clip in given]

    value = frechet_to_truth(other, true, range(40)).value
    assert frechet_to_truth(scaled(other), scaled(true), range(40)).value == pytest.approx(value)


def test_the_jackknife_gives_the_standard_error_of_a_mean() -> None:
    values = np.random.default_rng(0).normal(size=30)
    left_out = (values.sum() - values) / 29
    assert jackknife_error(left_out) == pytest.approx(values.std(ddof=1) / np.sqrt(30))


def test_seeds_of_one_scene_leave_together() -> None:
    true = clips(40, seed=0)
    once, twice = clips(12, seed=1), [clip for clip in clips(12, seed=1) for _ in range(2)]
    single = frechet_to_truth(once, true, range(12))
    double = frechet_to_truth(twice, true, [i // 2 for i in range(24)])
    assert double.high - double.low == pytest.approx(single.high - single.low, rel=0.25)


@pytest.mark.parametrize("scenes", [[0, 0], [0, 1]])
def test_too_few_scenes_give_a_distance_without_an_interval(scenes: list[int]) -> None:
    clips = [{"look": [0.0, 1.0]}, {"look": [1.0, 0.0]}]
    found = frechet_to_truth(clips, clips, scenes)
    assert found.value == pytest.approx(0.0, abs=1e-6)
    assert found.bounds is None


def test_a_single_true_clip_gives_no_distance() -> None:
    result = {"features": {"encoder": {"look": [0.0, 1.0]}}, "flicker": [1.0, 1.0], "edges": [1.0, 1.0]}
    assert realism([({"scene": 0}, result)] * 2, [result])["frechet"] == {}
