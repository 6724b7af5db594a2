"""The small world: scenes that repeat, outcomes that differ, pictures with their truth."""

from __future__ import annotations

import numpy as np
import pytest

from physplan.errors import PhysPlanError
from physplan_sandbox.world.phenomena import DOMAINS, PHENOMENA, SUBSETS, scene, scenes
from physplan_sandbox.world.scene import DistractorChange

KINDS = [(p.name, v) for p in PHENOMENA.values() for v in p.variants]


def test_twelve_phenomena_in_the_five_domains_of_physics_iq() -> None:
    assert len(PHENOMENA) >= 12
    assert {p.domain for p in PHENOMENA.values()} == set(DOMAINS)


def test_at_least_four_prompts_end_differently_in_different_scenes() -> None:
    depends = [
        p.name for p in PHENOMENA.values() if len({outcomes[0] for outcomes in p.variants.values()}) > 1
    ]
    assert len(depends) >= 4


@pytest.mark.parametrize(("name", "variant"), KINDS)
def test_every_outcome_starts_from_the_same_picture_and_ends_in_its_own(name: str, variant: str) -> None:
    chosen = scene("test", 3, phenomenon=name, variant=variant)
    clips = [chosen.render(outcome) for outcome in chosen.outcomes]
    for clip in clips[1:]:
        assert np.abs(clip.frames[0].astype(int) - clips[0].frames[0]).max() <= 2
        different = np.abs(clip.frames[-1].astype(int) - clips[0].frames[-1]).max(axis=-1) > 25
        assert different.sum() > 12


def test_the_same_number_gives_the_same_scene_and_splits_share_none() -> None:
    again = [s.render(only=[0]).frames for s in scenes("test", 25)]
    for chosen, frames in zip(scenes("test", 25), again, strict=True):
        assert np.array_equal(chosen.render(only=[0]).frames, frames)
    layouts = {
        split: {tuple(s.layout.values.values()) for s in scenes(split, 100)}
        for split in ("train", "validation", "test")
    }
    assert not layouts["train"] & layouts["test"]
    assert not layouts["validation"] & layouts["test"]
    assert not layouts["train"] & layouts["validation"]


def test_two_takes_of_one_scene_differ_a_little() -> None:
    for chosen in scenes("test", 25):
        first, second = (chosen.render(take=take).frames.astype(float) for take in (0, 1))
        assert np.array_equal(first[0], second[0])
        assert 0 < np.abs(first - second).mean() < 8


def test_distractors_stay_as_they_are_unless_meddled_with() -> None:
    for chosen in scenes("test", 25):
        sprites = {s.object: s for s in chosen.sprites()}
        for key in chosen.distractors:
            assert all(np.ndim(getattr(sprites[key], v)) == 0 for v in ("x", "y", "w", "h", "alpha"))


def test_stories_crowd_the_table_with_twins_among_them() -> None:
    crowds = [len(chosen.distractors) for chosen in scenes("test", 60, subset="stories")]
    assert max(crowds) >= 4
    assert min(crowds) >= 1
    kinds = [
        [s.category for s in chosen.distractors.values()] for chosen in scenes("test", 60, subset="stories")
    ]
    assert any(len(set(found)) < len(found) for found in kinds)
    assert all(len(chosen.distractors) <= 3 for chosen in scenes("test", 60, subset="short"))


@pytest.mark.parametrize("kind", DistractorChange.KINDS)
def test_a_distractor_change_alters_its_target_and_nothing_before_it_starts(kind: str) -> None:
    chosen = next(s for s in scenes("train", 50) if s.distractors)
    target = next(iter(chosen.distractors))
    changed = chosen.render(change=DistractorChange(target=target, kind=kind, color=(1.0, 0.0, 1.0)))
    plain = chosen.render()
    assert np.abs(changed.frames[0].astype(int) - plain.frames[0]).max() <= 2
    area = plain.mask(target, 24)
    assert np.abs(changed.frames[24].astype(int) - plain.frames[24])[area].mean() > 5


def test_masks_and_depth_belong_to_the_picture() -> None:
    for chosen in scenes("test", 25):
        clip = chosen.render(only=[0])
        for key in chosen.things:
            assert clip.mask(key).sum() > 10, f"{key} cannot be seen in {chosen.name}"
        assert clip.depth.min() >= 0
        assert clip.depth.max() <= 1


def test_pictures_of_any_size_show_the_same_scene() -> None:
    chosen = scene("test", 0)
    small, large = chosen.render(size=96, only=[0]).frames[0], chosen.render(size=192, only=[0]).frames[0]
    shrunk = large.reshape(96, 2, 96, 2, 3).mean(axis=(1, 3))
    assert np.abs(shrunk - small).mean() < 3


def test_the_subset_of_short_phenomena_keeps_its_numbers() -> None:
    names = [(s.phenomenon.name, s.variant) for s in scenes("test", 50, subset="short")]
    assert names[:5] == [
        ("drop", "crate"),
        ("drop", "table"),
        ("push", "tall"),
        ("push", "squat"),
        ("dominoes", "row"),
    ]
    assert names[:25] == names[25:]
    assert {name for name, _ in names} == {p.name for p in SUBSETS["short"]}


def test_an_unknown_subset_is_refused_in_a_sentence() -> None:
    with pytest.raises(PhysPlanError, match="no subset 'long' of scenes: choose all, short, stories"):
        scene("test", 0, subset="long")
