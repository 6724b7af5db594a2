"""Motion scores without labels: steady is smooth, jumps and flicker are not."""

from __future__ import annotations

import pytest
import torch
from transformers import VJEPA2Config, VJEPA2Model

from physplan.errors import PhysPlanError
from physplan.verify.smoothness import FeatureSmoothness, MotionScore, smoothness
from physplan.verify.surprise import VJEPASurprise


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


def tiny() -> VJEPASurprise:
    torch.manual_seed(0)
    config = VJEPA2Config(
        crop_size=32,
        frames_per_clip=8,
        hidden_size=24,
        num_attention_heads=2,
        num_hidden_layers=2,
        pred_hidden_size=24,
        pred_num_attention_heads=2,
        pred_num_hidden_layers=2,
        pred_zero_init_mask_tokens=False,
    )
    return VJEPASurprise(model=VJEPA2Model(config).eval())


def test_v_jepa_2_is_a_motion_score_of_the_same_protocol() -> None:
    frames = torch.rand(9, 3, 24, 24, generator=torch.Generator().manual_seed(1))
    scores: list[MotionScore] = [tiny(), FeatureSmoothness(encoder=lambda images: images)]
    for score in scores:
        assert score(frames) == score(frames)
        assert score(frames) >= 0


def test_surprise_depends_on_what_comes_and_not_only_on_what_was() -> None:
    score = tiny()
    frames = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    other = torch.cat([frames[:4], frames[4:].flip(0)])
    assert score(frames) != score(other)


def test_surprise_needs_enough_frames() -> None:
    with pytest.raises(PhysPlanError, match="at least 4 frames"):
        tiny()(torch.rand(3, 3, 32, 32))
