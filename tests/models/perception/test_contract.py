"""The contract that docs/backends.md offers: real backends keep it, and each way to break it is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from physplan.errors import PhysPlanError
from physplan.perception import Instance
from physplan.perception.contract import check_depth, check_encoder, check_segmenter
from physplan.perception.registry import DEPTH_ESTIMATORS, ENCODERS, SEGMENTERS
from scenes import ColourSegmenter, row_depth

Folders = Callable[[str], Path]


@pytest.mark.parametrize("name", ["dinov2", "dinov3"])
def test_the_encoders_keep_it(folders: Folders, name: str) -> None:
    check_encoder(ENCODERS.load(name).from_pretrained(folders(name)))


def test_the_depth_estimator_keeps_it(folders: Folders) -> None:
    check_depth(
        DEPTH_ESTIMATORS.load("depth-anything-v2").from_pretrained(folders("depth_anything"), size=56)
    )
    check_depth(row_depth)


def test_the_segmenters_keep_it(folders: Folders) -> None:
    settings = {"threshold": 0.0, "edges": (64, 96)}
    grounded = SEGMENTERS.load("grounded-sam-2")
    check_segmenter(grounded.from_pretrained(folders("grounding_dino"), folders("sam2"), **settings))
    check_segmenter(SEGMENTERS.load("sam-3").from_pretrained(folders("sam3"), threshold=0.0))
    check_segmenter(ColourSegmenter())


class Trained:
    """Breaks nothing but that its weights are not frozen."""

    def __init__(self) -> None:
        self.model = torch.nn.Conv2d(3, 2, 4, stride=4)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        return self.model(images)


@pytest.mark.parametrize(
    ("encoder", "problem"),
    [
        (lambda x: x.mean((2, 3)), r"not \[2, C, h, w\]"),
        (lambda x: torch.nn.functional.avg_pool2d(x, 8).detach(), "lets no gradient through"),
        (lambda x: torch.nn.functional.avg_pool2d(x, 8) - x.mean(), "differently when it is in a batch"),
        (lambda x: torch.nn.functional.avg_pool2d(x, 8) * 0, "a gradient that is zero"),
        (Trained(), "not frozen"),
    ],
)
def test_an_encoder_that_breaks_it_is_told_how(encoder: Callable, problem: str) -> None:
    with pytest.raises(PhysPlanError, match=problem):
        check_encoder(encoder)


def test_a_depth_map_of_another_size_is_named() -> None:
    with pytest.raises(PhysPlanError, match=r"gives \(2, 24, 36\)"):
        check_depth(lambda images: torch.nn.functional.avg_pool2d(images, 2).mean(1))


@pytest.mark.parametrize(
    ("category", "mask", "problem"),
    [
        ("dog", torch.ones(48, 72, dtype=torch.bool), "'dog', never asked for"),
        ("tray", torch.ones(48, 72), "not bool"),
        ("tray", torch.ones(72, 48, dtype=torch.bool), r"a mask of \(72, 48\) for \(48, 72\)"),
        (None, torch.ones(48, 72, dtype=torch.bool), "when asked for nothing"),
    ],
)
def test_a_segmenter_that_breaks_it_is_told_how(
    category: str | None, mask: torch.Tensor, problem: str
) -> None:
    class Wrong:
        def segment(self, image: torch.Tensor, categories: tuple[str, ...]) -> tuple[Instance, ...]:
            return (Instance(category=category or "tray", mask=mask, score=1.0),)

    with pytest.raises(PhysPlanError, match=problem):
        check_segmenter(Wrong())
