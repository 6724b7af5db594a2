"""The metrics and the score against an independent computation and against what one works out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from physplan.errors import PhysPlanError
from physplan_bench.physics_iq import (
    Metrics,
    clipped,
    compare,
    mean_metrics,
    motion_masks,
    physics_iq_score,
    verified_score,
)
from physplan_bench.physics_iq.masks import iter_motion_masks, lossy_round_trip, read_masks, resize_masks

EXACT = Metrics(spatiotemporal=1, spatial=1, weighted_spatial=1, mse=0)


def moving_square(
    *, frames: int = 20, shift: int = 0, speed: int = 3, size: int = 12, side: int = 96
) -> np.ndarray:
    """A bright square on a grey ground that moves to the right, `shift` pixels lower than usual."""
    video = np.full((frames, side, side, 3), 90, np.uint8)
    for t in range(frames):
        x, y = 8 + speed * t, 30 + shift
        video[t, y : y + size, x : x + size] = (220, 180, 60)
    return video


def independent_masks(video: np.ndarray) -> np.ndarray:
    """The same definition in numpy and scipy: no line shared with the package."""
    weights = np.array([1, 4, 6, 4, 1]) / 16
    grey = np.floor(video.astype(np.int64) @ [4899, 9617, 1868] / 2**14 + 0.5)
    blurred = ndimage.correlate1d(
        ndimage.correlate1d(grey, weights, axis=1, mode="mirror"), weights, axis=2, mode="mirror"
    )
    blurred = np.floor(blurred + 0.5)
    background, masks = blurred[0], [np.zeros(blurred[0].shape, bool)]
    square = np.ones((5, 5), bool)
    for frame in blurred[1:]:
        background = 0.7 * background + 0.3 * frame
        moved = np.abs(frame - np.round(background)) > 10
        opened = ndimage.binary_dilation(ndimage.binary_erosion(moved, square, border_value=1), square)
        masks.append(ndimage.binary_erosion(ndimage.binary_dilation(opened, square), square, border_value=1))
    return np.array(masks)


def independent_metrics(video, other) -> dict[str, float]:
    a, b = independent_masks(video), independent_masks(other)
    per_frame = [
        1.0 if not (x | y).any() else (x & y).sum() / (x | y).sum() for x, y in zip(a, b, strict=True)
    ]
    place, other_place = a.max(0), b.max(0)
    amount, other_amount = a.sum(0) / len(a), b.sum(0) / len(b)
    either = np.stack([amount, other_amount])
    return {
        "spatiotemporal": sum(per_frame) / len(per_frame),
        "spatial": (place * other_place).sum() / np.clip(place.astype(int) + other_place, 0, 1).sum(),
        "weighted_spatial": either.min(0).sum() / either.max(0).sum(),
        "mse": (((video / 255.0) - (other / 255.0)) ** 2).mean(),
    }


def measure(video: np.ndarray, other: np.ndarray) -> Metrics:
    return compare(video, motion_masks(video), other, motion_masks(other))


def test_masks_equal_an_independent_computation() -> None:
    video = moving_square()
    ours = motion_masks(video)
    assert ours.any()
    assert not ours[0].any()
    np.testing.assert_array_equal(ours, independent_masks(video))


@pytest.mark.parametrize("other", [moving_square(shift=4), moving_square(speed=2), moving_square(size=16)])
def test_all_four_metrics_equal_an_independent_computation(other: np.ndarray) -> None:
    video = moving_square()
    ours = measure(video, other)
    for name, expected in independent_metrics(video, other).items():
        assert getattr(ours, name) == pytest.approx(expected, abs=1e-6), name


def test_identical_videos_score_100() -> None:
    video = moving_square()
    assert measure(video, video) == EXACT
    assert physics_iq_score(measure(video, video), EXACT) == 100
    # better than the takes are among themselves is still 100 once it is reported
    variance = measure(video, moving_square(shift=2))
    assert physics_iq_score(EXACT, variance) > 100
    assert clipped(physics_iq_score(EXACT, variance)) == 100


def test_a_still_video_gets_only_the_frames_in_which_nothing_moves() -> None:
    video = moving_square()
    still = np.repeat(video[:1], len(video), axis=0)
    metrics = measure(video, still)
    empty = sum(not mask.any() for mask in independent_masks(video))
    assert empty == 1  # the first mask is empty by definition
    assert metrics.spatiotemporal == pytest.approx(1 / 20)
    assert metrics.spatial == 0
    assert metrics.weighted_spatial == 0
    # the square leaves its place: 12 x 12 pixels differ twice, before and after, once it is clear of itself
    overlap = [max(0, 12 - 3 * t) * 12 for t in range(20)]
    contrast = (np.array([220, 180, 60]) - 90) / 255
    per_pixel = (contrast**2).mean()
    expected = np.mean([2 * (144 - o) * per_pixel / 96**2 for o in overlap])
    assert metrics.mse == pytest.approx(expected, rel=1e-5)
    assert physics_iq_score(metrics, EXACT) == pytest.approx(100 * (1 / 60 - expected), rel=1e-5)


def test_masks_shifted_by_half_their_side_overlap_by_a_third() -> None:
    masks = np.zeros((4, 40, 40), bool)
    masks[1:, 10:20, 10:20] = True
    shifted = np.roll(masks, 5, axis=2)
    video = np.zeros((4, 40, 40, 3), np.uint8)
    metrics = compare(video, masks, video, shifted)
    assert metrics.spatial == pytest.approx(50 / 150)
    assert metrics.spatiotemporal == pytest.approx((1 + 3 * 50 / 150) / 4)
    assert metrics.weighted_spatial == pytest.approx(1 / 3)


def test_weighted_spatial_counts_how_long_a_place_moves() -> None:
    masks = np.zeros((4, 8, 8), bool)
    masks[:4, 0, 0] = True  # moves all the time
    other = np.zeros((4, 8, 8), bool)
    other[:1, 0, 0] = True  # a quarter of it
    video = np.zeros((4, 8, 8, 3), np.uint8)
    metrics = compare(video, masks, video, other)
    assert metrics.weighted_spatial == pytest.approx(0.25)
    assert metrics.spatial == 1


def test_noise_below_the_threshold_costs_exactly_its_energy() -> None:
    video = moving_square()
    checker = np.where(np.indices(video.shape[1:3]).sum(0) % 2, 4, -4)[None, :, :, None]
    noisy = (video.astype(int) + checker).astype(np.uint8)  # the blur removes a checkerboard entirely
    metrics = measure(video, noisy)
    assert (metrics.spatiotemporal, metrics.spatial, metrics.weighted_spatial) == (1, 1, 1)
    assert metrics.mse == pytest.approx((4 / 255) ** 2, rel=1e-5)
    assert physics_iq_score(metrics, EXACT) == pytest.approx(100 - 100 * (4 / 255) ** 2)


def test_the_score_is_the_formula() -> None:
    metrics = Metrics(spatiotemporal=0.2, spatial=0.3, weighted_spatial=0.1, mse=0.012)
    variance = Metrics(spatiotemporal=0.5, spatial=0.6, weighted_spatial=0.4, mse=0.002)
    assert physics_iq_score(metrics, variance) == pytest.approx(100 * ((0.4 + 0.5 + 0.25) / 3 - 0.010))


def test_scores_per_video_average_to_the_overall_score_before_clipping() -> None:
    rng = np.random.default_rng(0)
    metrics = [
        Metrics(**dict(zip(("spatiotemporal", "spatial", "weighted_spatial", "mse"), row, strict=True)))
        for row in rng.uniform(0, 1, (50, 4))
    ]
    variance = Metrics(spatiotemporal=0.5, spatial=0.6, weighted_spatial=0.4, mse=0.002)
    scores = [physics_iq_score(metric, variance) for metric in metrics]
    assert min(scores) < 0 < 100 < max(scores)  # some would be clipped: clipping each would change the mean
    assert np.mean(scores) == pytest.approx(physics_iq_score(mean_metrics(metrics), variance))


def test_verified_takes_each_video_against_its_own_takes_and_clips_each_ratio() -> None:
    metrics = Metrics(spatiotemporal=0.2, spatial=0.9, weighted_spatial=0.1, mse=0.02)
    variance = Metrics(spatiotemporal=0.5, spatial=0.6, weighted_spatial=0.4, mse=0.005)
    assert verified_score(metrics, variance) == pytest.approx(100 * (0.4 + 1 + 0.25 + 0.25) / 4)
    assert verified_score(EXACT, EXACT) == pytest.approx(100, abs=1e-5)


def test_verified_counts_an_overlap_of_nothing_with_nothing_as_nothing() -> None:
    """Official: metric / (variance + 1e-8), so 0 where both are 0; any overlap counts fully."""
    nothing = Metrics(spatiotemporal=0, spatial=0, weighted_spatial=0, mse=0.01)
    assert verified_score(nothing, nothing) == pytest.approx(25, abs=1e-3)
    some = Metrics(spatiotemporal=0.3, spatial=0.3, weighted_spatial=0.3, mse=0)
    assert verified_score(some, nothing) == 100


def test_takes_that_never_overlap_are_refused() -> None:
    with pytest.raises(PhysPlanError, match="never overlap"):
        physics_iq_score(EXACT, Metrics(spatiotemporal=0.1, spatial=0, weighted_spatial=0, mse=0))


def test_videos_of_different_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        measure(moving_square(), moving_square(side=80))


def test_lossy_masks_are_nearly_the_exact_ones() -> None:
    video = moving_square()
    exact = motion_masks(video)
    stored = np.stack(list(lossy_round_trip(iter_motion_masks(video), fps=8)))
    assert not np.isin(stored, (0, 255)).all()  # a codec was in between
    lossy = resize_masks(stored, None)
    assert lossy.shape == exact.shape
    assert (lossy == exact).mean() > 0.98


def test_of_a_shipped_mask_the_first_channel_counts(tmp_path: Path) -> None:
    """As in the official code: a blue half is motion, a red one is not."""
    cv2 = pytest.importorskip("cv2")
    frame = np.zeros((32, 64, 3), np.uint8)
    frame[:, :32, 0], frame[:, 32:, 2] = 255, 255  # blue and red, as OpenCV orders them
    writer = cv2.VideoWriter(str(tmp_path / "masks.mp4"), cv2.VideoWriter.fourcc(*"mp4v"), 8, (64, 32))
    for _ in range(3):
        writer.write(frame)
    writer.release()
    found = resize_masks(read_masks(tmp_path / "masks.mp4", frames=2), (16, 8))
    assert found.shape == (2, 8, 16)
    assert found[:, :, :7].all()
    assert not found[:, :, 9:].any()


def test_official_rounding_keeps_four_decimals_of_every_frame() -> None:
    video, other = moving_square(), moving_square(shift=4)
    exact = measure(video, other)
    rounded = compare(video, motion_masks(video), other, motion_masks(other), official_rounding=True)
    assert rounded.mse != exact.mse
    assert rounded.mse == pytest.approx(exact.mse, abs=5e-5)
    assert round(rounded.mse * 20, 4) == pytest.approx(rounded.mse * 20, abs=1e-12)
