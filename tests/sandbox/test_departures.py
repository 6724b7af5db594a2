"""The denoiser's view of a latent: what departs from the picture."""

from __future__ import annotations

import torch

from physplan.sandbox.models import departures


def test_a_perfect_answer_gives_the_schedulers_velocity():
    d, noise = torch.randn(2, 1, 24, 2, 3, 3, generator=torch.Generator().manual_seed(0))
    alpha, sigma = 0.6, 0.8
    r = alpha * d + sigma * noise
    nothing_kept = torch.full_like(d, -50.0)
    answer = torch.cat([d / departures.SCALE, nothing_kept], dim=1)
    torch.testing.assert_close(departures.velocity(answer, r, alpha, sigma), alpha * noise - sigma * d)


def test_what_is_kept_is_the_best_linear_guess_of_a_moving_cell():
    generator = torch.Generator().manual_seed(1)
    d = departures.MOVING**0.5 * torch.randn(1, 24, 8, 32, 32, generator=generator)
    alpha, sigma = 0.9, 0.436
    r = alpha * d + sigma * torch.randn(d.shape, generator=generator)
    keep = torch.cat([torch.zeros_like(d), torch.full_like(d, 50.0)], dim=1)
    error = (departures.departure(keep, r, alpha, sigma) - d).square().mean()
    for factor in (0.95, 1.05):
        assert error < (factor * departures.departure(keep, r, alpha, sigma) - d).square().mean()


def test_without_noise_towards_the_end_the_input_is_kept():
    d = torch.randn(1, 24, 1, 4, 4, generator=torch.Generator().manual_seed(2))
    keep = torch.cat([torch.zeros_like(d), torch.full_like(d, 50.0)], dim=1)
    torch.testing.assert_close(departures.departure(keep, d, 1.0, 0.0), d)
