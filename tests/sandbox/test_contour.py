"""The contour network: what it is given, and what it learns from."""

from __future__ import annotations

import numpy as np
import torch

from physplan_sandbox.models.contour import PAIR_NOISE_SCALE, build_contour, to_half_rate
from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.models.residual_prediction import ResidualStats
from physplan_sandbox.train.autoencoder import CROP_CELLS
from physplan_sandbox.train.contour import (
    ALIGNMENT_WINDOW,
    aligned_targets,
    busy_crops,
    neighbourhoods,
    noisier,
)


def answer(network: DrawingNet, outlines: torch.Tensor | None) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    noisy = torch.randn(2, 24, len(network.config.moments), 4, 4, generator=generator)
    one = torch.ones(2)
    return network(
        noisy,
        torch.zeros(2, 132, 4, 4),
        torch.zeros(1, 24, 7, 7),
        torch.full((2,), 900),
        ResidualStats.of(torch.full((24,), 0.1), torch.ones(24)),
        0.1 * one,
        one,
        outlines=outlines,
    )


def test_it_answers_with_its_outline_as_far_as_it_believes_it() -> None:
    torch.manual_seed(0)
    network, outlines = build_contour(), torch.randn(2, 24, 5, 4, 4)
    with torch.no_grad():
        network.leave.bias[48:] = 20.0  # wholly
        network.cut.bias[0] = -20.0  # and nothing is copied
        given, nothing = answer(network, outlines), answer(network, torch.zeros_like(outlines))
    torch.testing.assert_close(given - nothing, outlines[:, :, 2], atol=1e-4, rtol=0)


def test_the_drawing_network_is_given_none() -> None:
    assert DrawingNet().enter.in_channels < build_contour().enter.in_channels
    assert answer(DrawingNet(), None).shape == (2, 24, 4, 4)


def test_the_noise_of_a_pair_of_frames_is_calmer_by_as_much_as_is_told() -> None:
    noise = torch.randn(1, 8, 65, 32, 32, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        to_half_rate(noise)[:, :, 1:].std(), torch.tensor(PAIR_NOISE_SCALE), atol=0.005, rtol=0
    )


def test_outlines_come_from_the_same_noise_or_from_more() -> None:
    steps = torch.arange(300, 1000)
    drawn = noisier(steps, np.random.default_rng(0))
    assert (drawn >= steps).all()
    assert drawn.max() <= 999
    assert 0.4 < float((drawn > steps).float().mean()) < 0.6


def test_crops_lie_where_something_moves_or_an_outline_says_so() -> None:
    truth, outlines = torch.zeros(2, 24, 16, 16, 16), torch.zeros(2, 24, 16, 16, 16)
    truth[0, :, 9, 14, 14] = 1.0
    outlines[1, :, 3, 1, 1] = 1.0
    crops = list(busy_crops(truth, outlines, 200, np.random.default_rng(0)))
    assert len(crops) == 400
    for clip, moment, cell in ((0, 9, 14), (1, 3, 1)):
        found = [crop for crop in crops if crop[0] == clip]
        near = [
            (t, y, x)
            for _, t, y, x in found
            if t == moment and y <= cell < y + CROP_CELLS and x <= cell < x + CROP_CELLS
        ]
        assert len(near) > 0.15 * len(found)  # by chance 0.003


def test_before_the_first_moment_and_after_the_last_there_is_nothing() -> None:
    clips = torch.arange(1.0, 5.0).view(1, 1, 4, 1, 1).expand(1, 1, 4, 10, 10)
    shown = neighbourhoods(clips, [(0, 0, 0, 2), (0, 3, 1, 1)], (-2, -1, 0, 1, 2))
    assert shown.shape == (2, 1, 5, CROP_CELLS, CROP_CELLS)
    assert shown[:, 0, :, 0, 0].tolist() == [[0, 0, 1, 2, 3], [2, 3, 4, 0, 0]]


def test_the_aim_of_a_guess_is_the_true_moment_that_it_comes_nearest_to() -> None:
    pairs = torch.zeros(1, 24, 31, 16, 16)
    for time in range(31):
        pairs[0, :, time, 4, time // 2] = 1.0 + time % 2  # a thing that moves to the right
    guesses = torch.zeros(1, 24, 16, 16, 16)
    guesses[0, :, 5] = 0.8 * pairs[0, :, 13]  # a blur of what is due at 10
    guesses[0, :, 2] = 0.8 * pairs[0, :, 30]  # of what is not near at all
    late, lost, empty = aligned_targets(pairs, guesses, [(0, 5, 1, 3), (0, 2, 2, 8), (0, 9, 8, 8)])
    assert torch.equal(late, pairs[0, :, 13, 1 : 1 + CROP_CELLS, 3 : 3 + CROP_CELLS])
    due = neighbourhoods(pairs[:, :, ::2], [(0, 2, 2, 8), (0, 9, 8, 8)], (0,))[:, :, 0]
    assert torch.equal(torch.stack([lost, empty]), due)  # nothing there to choose by: what is due


def test_no_moment_is_taken_that_is_further_off_than_it_may_be() -> None:
    pairs = torch.arange(31.0).view(1, 1, 31, 1, 1).expand(1, 24, 31, 16, 16)
    guesses = torch.full((1, 24, 16, 16, 16), 30.0)
    found = aligned_targets(pairs, guesses, [(0, 0, 0, 0), (0, 5, 0, 0), (0, 15, 0, 0)])
    assert found[:, 0, 0, 0].tolist() == [ALIGNMENT_WINDOW, 10 + ALIGNMENT_WINDOW, 30]
