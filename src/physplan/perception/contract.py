"""What a backend must keep to, as functions that call it the way PhysPlan does and say what does not fit."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.perception.protocol import DepthEstimator, FeatureEncoder, Segmenter


def check_segmenter(segmenter: Segmenter, *, size: tuple[int, int] = (48, 72)) -> None:
    """Categories as asked, bool masks of the image's size, and no instance for no category."""
    categories = ("ice cube", "tray")
    for image in (_noise(size), torch.ones(3, *size)):
        for found in segmenter.segment(image, categories):
            _require(
                found.category in categories, segmenter, f"answers with {found.category!r}, never asked for"
            )
            _require(
                found.mask.dtype == torch.bool, segmenter, f"gives masks of {found.mask.dtype}, not bool"
            )
            _require(
                found.mask.shape == size, segmenter, f"gives a mask of {tuple(found.mask.shape)} for {size}"
            )
    _require(not segmenter.segment(_noise(size), ()), segmenter, "finds something when asked for nothing")


def check_depth(depth: DepthEstimator, *, size: tuple[int, int] = (48, 72)) -> None:
    """A map of the image's size for each image, differentiable."""
    images = torch.stack([_noise(size), torch.ones(3, *size)])
    found = tuple(depth(images).shape)
    _require(found == (2, *size), depth, f"gives {found} for images {tuple(images.shape)}, not {(2, *size)}")
    _check_gradient(depth, images)


def check_encoder(encoder: FeatureEncoder, *, size: tuple[int, int] = (48, 72)) -> None:
    """A feature map for each image, differentiable, and the same for an image alone and in a batch."""
    images = torch.stack([_noise(size), torch.ones(3, *size)])
    features = encoder(images)
    _require(
        features.ndim == 4 and len(features) == 2, encoder, f"gives {tuple(features.shape)}, not [2, C, h, w]"
    )
    alone = encoder(images[:1])
    same = torch.allclose(features[:1], alone, rtol=1e-3, atol=1e-4)
    _require(same, encoder, "sees an image differently when it is in a batch")
    _check_gradient(encoder, images)


def _check_gradient(backend: Callable[[Tensor], Tensor], images: Tensor) -> None:
    variable = images.clone().requires_grad_()
    answer = backend(variable)
    _require(answer.requires_grad, backend, "lets no gradient through: is it under no_grad?")
    weight = torch.linspace(-1, 1, answer.numel(), device=answer.device).view_as(answer)
    (answer * weight).sum().backward()  # type: ignore[no-untyped-call]
    gradient = variable.grad
    ok = gradient is not None and bool(torch.isfinite(gradient).all() and gradient.abs().sum() > 0)
    _require(ok, backend, "has a gradient that is zero, infinite or NaN")
    model = getattr(backend, "model", None)
    if isinstance(model, torch.nn.Module):
        trained = any(weight.requires_grad for weight in model.parameters())
        _require(not trained, backend, "has weights that are not frozen: call requires_grad_(False)")


def _noise(size: tuple[int, int]) -> Tensor:
    return torch.rand(3, *size, generator=torch.Generator().manual_seed(0))


def _require(holds: bool, backend: object, problem: str) -> None:
    if not holds:
        raise PhysPlanError(f"{type(backend).__name__} {problem} (docs/backends.md).")
