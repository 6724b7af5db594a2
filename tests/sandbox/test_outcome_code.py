"""What chance decides in a clip: told to the outline network in training, drawn with the noise of a video."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from PIL import Image

from physplan_sandbox.models.outcome_code import (
    CODE_SIZE,
    OUTCOME_SLOTS,
    SAMPLE_DISTRACTOR_PROB,
    TRAIN_DISTRACTOR_PROB,
    clip_outcome_code,
    column_of,
    sample_outcome_code,
)
from physplan_sandbox.models.outline import OutcomeEmbedding, column_map, coordinate_grid
from physplan_sandbox.train.data import training_outcome_code
from physplan_sandbox.video import outcome_code_for
from physplan_sandbox.world.phenomena import scene
from physplan_sandbox.world.scene import Take


def sides_of(phenomenon: str, variant: str, outcome: str) -> set[int]:
    one, rng = scene("train", 3, phenomenon=phenomenon, variant=variant), np.random.default_rng(0)
    return {
        int(clip_outcome_code(one, outcome, Take(), None, rng)[1 : 1 + OUTCOME_SLOTS].argmax())
        for _ in range(60)
    }


def test_each_outcome_has_an_equal_share_of_the_sides_and_all_have_them() -> None:
    shares = [sides_of("drop", "crate", outcome) for outcome in ("in_crate", "on_table", "floats")]
    assert [len(share) for share in shares] == [2, 2, 2]
    assert set.union(*shares) == set(range(OUTCOME_SLOTS))
    assert len(sides_of("flame", "over", "dies")) == 3  # of two outcomes


def test_a_side_says_what_happens_and_not_whether_it_is_right() -> None:
    for outcome in ("in_crate", "on_table", "floats"):
        assert sides_of("drop", "crate", outcome) == sides_of("drop", "table", outcome)


def test_lots_are_drawn_as_training_clips_have_them_but_meddle_less_often() -> None:
    rng = np.random.default_rng(1)
    drawn = torch.stack([sample_outcome_code(rng) for _ in range(1500)])
    clips = torch.stack([training_outcome_code(index) for index in range(600)])
    assert drawn.shape[1] == clips.shape[1] == CODE_SIZE
    assert share_changed(clips) == pytest.approx(TRAIN_DISTRACTOR_PROB, abs=0.06)
    assert share_changed(drawn) == pytest.approx(SAMPLE_DISTRACTOR_PROB, abs=0.03)
    for changed in (False, True):
        of_videos, of_clips = (codes[(codes[:, -1] != 0) == changed] for codes in (drawn, clips))
        torch.testing.assert_close(of_videos.mean(dim=0), of_clips.mean(dim=0), rtol=0, atol=0.2)
        torch.testing.assert_close(of_videos.std(dim=0), of_clips.std(dim=0), rtol=0, atol=0.2)


def share_changed(codes: torch.Tensor) -> float:
    return float((codes[:, -1] != 0).float().mean())


def test_the_column_of_a_meddled_object_is_nearer_to_it_than_to_the_others() -> None:
    one = next(s for k in range(40) if len((s := scene("train", k)).distractors) >= 3)
    across = {name: float(np.mean(sprite.x)) / 96 for name, sprite in one.distractors.items()}
    for target in across:
        column = column_of(one, target, np.random.default_rng(0))
        assert min(across, key=lambda name: abs(across[name] - column)) == target


def test_a_video_draws_its_lot_from_its_picture_and_noise() -> None:
    noise = [torch.randn(4, generator=torch.Generator().manual_seed(seed)) for seed in range(12)]
    pictures = [Image.new("RGB", (96, 96), color) for color in ("teal", "red")]
    torch.testing.assert_close(
        outcome_code_for(pictures[0], noise[0]), outcome_code_for(pictures[0], noise[0])
    )
    sides = Counter(int(outcome_code_for(pictures[0], one)[1 : 1 + OUTCOME_SLOTS].argmax()) for one in noise)
    assert len(sides) > 2
    assert any(not torch.equal(*(outcome_code_for(picture, one) for picture in pictures)) for one in noise)


def test_a_lot_that_is_not_known_tells_nothing() -> None:
    torch.manual_seed(0)
    chance = OutcomeEmbedding(text_width=6, width=8)
    for layer in (chance.of_all, chance.of_cells):
        torch.nn.init.normal_(layer.weight)
        torch.nn.init.normal_(layer.bias)
    words = torch.randn(2, 6)
    for told in chance(words, torch.zeros(2, CODE_SIZE)):
        assert not told.any()
    lot = sample_outcome_code(np.random.default_rng(2))
    ice, ball = chance(words, lot.expand(2, -1))[0]
    assert not torch.allclose(ice, ball)  # it means something else with other words


def test_only_a_lot_with_meddling_names_a_column() -> None:
    places = coordinate_grid(8).expand(2, -1, -1, -1)
    codes = torch.zeros(2, CODE_SIZE)
    codes[1, -1] = 0.5
    nothing, named = column_map(codes, places)
    assert not nothing.any()
    assert (named[0] == 1).all()
    assert named[1].abs().amin(dim=0).argmin() == 5  # of eight columns from -1 to 1
