"""Everyday words for the detector's classes, which of several is meant, and depth by the feet."""

from __future__ import annotations

import pytest

from physplan.perception.contract import check_depth
from physplan_photo.depth import FlatDepth
from physplan_photo.detector import choose
from physplan_photo.objects import Box, Found
from physplan_photo.words import CLASSES, WORDS, classes_of, place_of


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("mug", "cup"),
        ("the two kittens", "cat"),
        ("lady", "person"),
        ("bike", "bicycle"),
        ("telly", "tv"),
        ("a cup of tea", "cup"),
        ("the big red fire hydrant", "fire hydrant"),
        ("hot dog", "hot dog"),
        ("left one of the dogs", ""),
        ("rocket", ""),
        ("", ""),
    ],
)
def test_a_noun_phrase_means_its_class(word: str, kind: str) -> None:
    assert (kind in classes_of(word)) if kind else classes_of(word) == ()


def test_there_are_eighty_classes_and_every_synonym_leads_to_one() -> None:
    assert len(CLASSES) == len(set(CLASSES)) == 80
    assert {kind for kinds in WORDS.values() for kind in kinds} == set(CLASSES)


def test_several_of_a_kind_are_told_apart_by_place_and_size() -> None:
    boxes = {"a": Box(0, 50, 10, 60), "b": Box(40, 0, 80, 40), "c": Box(90, 60, 95, 65)}
    options = [
        Found(name, box, score) for (name, box), score in zip(boxes.items(), (0.5, 0.4, 0.9), strict=True)
    ]
    said = {"left dog": "a", "the dog on the right": "c", "largest dog": "b", "second dog": "b", "dog": "c"}
    for words, name in said.items():
        assert choose(options, place_of(words)).name == name, words


def test_flat_depth_keeps_the_contract() -> None:
    check_depth(FlatDepth.from_pretrained())
