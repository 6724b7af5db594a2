"""Motion scores without labels: steady is smooth, jumps and flicker are not."""

from __future__ import annotations

import pytest
import torch

from physplan.verify.smoothness import smoothness


def path(places: torch.Tensor) -> torch.Tensor:
    """Features [F, C, 1, 1] that move along a direction."""
    return torch.stack([places, torch.ones_like(places)], dim=1)[:, :, None, None]


def test_a_still_video_is_perfectly_smooth() -> None:
    found = smoothness(path(torch.zeros(9)))
    assert (found.step, found.turn, found.acceleration, found.score) == (0.0, 0.0, 0.0, 0.0)


def test_steady_is_smoother_than_a_jump_and_a_jump_than_flicker() -> None:
    steady = smoothness(path(torch.linspace(0, 1, 9)))
    jump = smoothness(path(torch.tensor([0.0, 0.02, 0.04, 0.06, 0.9, 0.92, 0.94, 0.96, 1.0])))
    flicker = smoothness(path(torch.tensor([0.0, 0.3, 0.0, 0.3, 0.0, 0.3, 0.0, 0.3, 0.0])))
    assert steady.score == pytest.approx(0.0, abs=1e-4)
    assert jump.step > 1
    assert flicker.turn == pytest.approx(2.0, abs=1e-4)
    assert steady.acceleration < jump.acceleration < flicker.acceleration


def test_too_few_frames_have_no_turn() -> None:
    assert smoothness(path(torch.tensor([0.0, 1.0]))).score == 0.0
