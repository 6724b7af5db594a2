"""The denoiser's view of a latent: what departs from the picture."""

from __future__ import annotations

import torch

from physplan_sandbox.models.residual_prediction import ResidualStats, measure

CHANNELS = 6
SPREAD = ResidualStats.of(torch.linspace(0.02, 0.3, CHANNELS), torch.linspace(0.2, 2.0, CHANNELS))


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(1, CHANNELS, *shape, generator=torch.Generator().manual_seed(seed))


def test_a_perfect_answer_is_the_departure():
    d, r = drawn(0, 2, 3, 3), drawn(1, 2, 3, 3)
    nothing_kept = torch.full_like(d, -50.0)
    answer = torch.cat([d / SPREAD.scale, nothing_kept], dim=1)
    torch.testing.assert_close(SPREAD.residual(answer, r, 0.6, 0.8), d)


def test_what_is_kept_is_the_best_linear_guess_of_a_moving_cell_in_every_channel():
    d = SPREAD.moving.sqrt() * drawn(1, 8, 32, 32)
    alpha, sigma = 0.9, 0.436
    r = alpha * d + sigma * drawn(2, 8, 32, 32)
    keep = torch.cat([torch.zeros_like(d), torch.full_like(d, 50.0)], dim=1)
    guess = SPREAD.residual(keep, r, alpha, sigma)
    error = (guess - d).square().mean(dim=(0, 2, 3, 4))
    for factor in (0.93, 1.07):
        assert (error < (factor * guess - d).square().mean(dim=(0, 2, 3, 4))).all()


def test_without_noise_towards_the_end_the_input_is_kept():
    d = drawn(2, 1, 4, 4)
    keep = torch.cat([torch.zeros_like(d), torch.full_like(d, 50.0)], dim=1)
    torch.testing.assert_close(SPREAD.residual(keep, d, 1.0, 0.0), d)


def test_the_spread_is_measured_over_all_cells_and_over_busy_ones():
    residual = torch.zeros(1, CHANNELS, 2, 4, 4)
    residual[:, :, :, :2] = SPREAD.moving.sqrt()
    overall, moving = measure(residual)
    torch.testing.assert_close(moving, SPREAD.moving.flatten())
    torch.testing.assert_close(overall, SPREAD.moving.flatten() / 2)
