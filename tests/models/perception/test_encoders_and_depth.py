from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import tiny_perception
from physplan.perception import normalise_depth
from physplan.perception.registry import DEPTH_ESTIMATORS, ENCODERS

Folders = Callable[[str], Path]
ENCODER_NAMES = [("dinov2", 14), ("dinov3", 16)]


@pytest.fixture
def images() -> torch.Tensor:
    return torch.rand(2, 3, 48, 72, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("name", "patch"), ENCODER_NAMES)
def test_features_are_a_map_at_the_stride_of_a_patch(
    folders: Folders, images: torch.Tensor, name: str, patch: int
) -> None:
    encoder = ENCODERS.load(name).from_pretrained(folders(name))
    assert encoder(images).shape == (2, 16, round(48 / patch), round(72 / patch))
    larger = ENCODERS.load(name).from_pretrained(folders(name), long_side=144)
    assert larger(images).shape == (2, 16, round(96 / patch), round(144 / patch))


@pytest.mark.parametrize(("name", "patch"), ENCODER_NAMES)
def test_a_patch_feature_answers_to_its_own_place(
    folders: Folders, images: torch.Tensor, name: str, patch: int
) -> None:
    """Rows, columns and dropped tokens are right: the image's top left changes most the map's top left."""
    encoder = ENCODERS.load(name).from_pretrained(folders(name))
    size = (3 * patch, 4 * patch)
    image = torch.nn.functional.interpolate(images[:1], size=size)
    changed = image.clone()
    changed[..., patch : 2 * patch, 2 * patch : 3 * patch] = 0
    difference = (encoder(image) - encoder(changed)).norm(dim=1)[0]
    assert divmod(int(difference.argmax()), 4) == (1, 2)


@pytest.mark.parametrize(("name", "_patch"), ENCODER_NAMES)
def test_gradients_reach_the_image_but_not_the_encoder(
    folders: Folders, images: torch.Tensor, name: str, _patch: int
) -> None:
    encoder = ENCODERS.load(name).from_pretrained(folders(name))
    image = images[:1].clone().requires_grad_()
    encoder(image)[:, 0].square().sum().backward()
    assert image.grad.abs().max() > 0
    assert torch.isfinite(image.grad).all()
    assert not any(weight.requires_grad for weight in encoder.model.parameters())
    assert_gradient_matches_difference(lambda x: encoder(x)[:, 0].square().sum(), images[:1])


def test_depth_is_given_at_the_size_of_the_image_and_is_differentiable(
    folders: Folders, images: torch.Tensor
) -> None:
    depth = DEPTH_ESTIMATORS.load("depth-anything-v2").from_pretrained(folders("depth_anything"), size=56)
    assert depth(images).shape == (2, 48, 72)
    image = images[:1].clone().requires_grad_()
    normalise_depth(depth(image)).square().sum().backward()
    assert image.grad.abs().max() > 0
    assert_gradient_matches_difference(lambda x: depth(x).mean(), images[:1])


def test_metric_depth_is_turned_into_nearness(tmp_path: Path, images: torch.Tensor) -> None:
    load = DEPTH_ESTIMATORS.load("depth-anything-v2").from_pretrained
    metric = load(tiny_perception.depth_anything(tmp_path, kind="metric"), size=56)
    raw = metric(images)
    metric.model.config.depth_estimation_type = "relative"
    torch.testing.assert_close(raw, -metric(images))


def test_normalised_depth_spans_zero_to_one_per_image() -> None:
    depth = torch.stack([torch.linspace(3, 5, 12).view(3, 4), torch.linspace(-1, 9, 12).view(3, 4)])
    normalised = normalise_depth(depth)
    torch.testing.assert_close(normalised[0], normalised[1])
    assert normalised.amin() == 0
    assert normalised.amax() == 1
    assert torch.equal(normalise_depth(torch.full((3, 4), 7.0)), torch.zeros(3, 4))


def assert_gradient_matches_difference(
    function: Callable[[torch.Tensor], torch.Tensor], image: torch.Tensor
) -> None:
    """The derivative along the gradient, by autograd and by a central difference."""
    variable = image.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(variable), variable)
    direction = gradient / gradient.norm()
    step = 1e-2
    with torch.no_grad():
        difference = (function(image + step * direction) - function(image - step * direction)) / (2 * step)
    torch.testing.assert_close(difference, gradient.norm(), rtol=0.05, atol=1e-4)
