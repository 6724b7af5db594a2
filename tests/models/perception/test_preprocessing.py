"""Our tensor code does what the libraries' own image processors do, where those run without torchvision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from transformers.image_transforms import get_size_with_aspect_ratio
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
from transformers.models.dpt.image_processing_pil_dpt import DPTImageProcessorPil
from transformers.models.grounding_dino.image_processing_pil_grounding_dino import (
    GroundingDinoImageProcessorPil,
)

from physplan.perception.images import (
    IMAGENET,
    fit_both,
    fit_edges,
    normalise,
    patch_grid,
    resize,
)
from physplan.pictures import to_picture, to_tensor

# One 8-bit step of rounding in the processors, divided by the smallest standard deviation.
TOLERANCE = 1.5 / 255 / min(IMAGENET[1])
STATISTICS = {"image_mean": list(IMAGENET[0]), "image_std": list(IMAGENET[1])}


@pytest.fixture(params=[(48, 72), (90, 61)], ids=["landscape", "portrait"])
def picture(request: pytest.FixtureRequest) -> Image.Image:
    height, width = request.param
    coarse = np.random.default_rng(0).integers(30, 225, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


def test_depth_input_matches_the_dpt_processor(picture: Image.Image) -> None:
    processor = DPTImageProcessorPil(
        size={"height": 56, "width": 56}, keep_aspect_ratio=True, ensure_multiple_of=14, **STATISTICS
    )
    expected = torch.as_tensor(np.asarray(processor(picture)["pixel_values"]))
    image = to_tensor(picture)[None]
    ours = normalise(resize(image, fit_both(picture.size[::-1], 56, 14)))
    torch.testing.assert_close(ours, expected, atol=TOLERANCE, rtol=0)


def test_detector_input_matches_the_grounding_dino_processor(picture: Image.Image) -> None:
    processor = GroundingDinoImageProcessorPil(size={"shortest_edge": 40, "longest_edge": 56}, do_pad=False)
    expected = torch.as_tensor(np.asarray(processor(picture)["pixel_values"]))
    ours = normalise(resize(to_tensor(picture)[None], fit_edges(picture.size[::-1], 40, 56), "bilinear"))
    torch.testing.assert_close(ours, expected, atol=TOLERANCE, rtol=0)


def test_encoder_input_matches_the_dinov2_processor(picture: Image.Image) -> None:
    rows, columns = patch_grid(picture.size[::-1], 14, long_side=42)
    processor = BitImageProcessorPil(
        size={"height": rows * 14, "width": columns * 14}, do_center_crop=False, **STATISTICS
    )
    expected = torch.as_tensor(np.asarray(processor(picture)["pixel_values"]))
    ours = normalise(resize(to_tensor(picture)[None], (rows * 14, columns * 14)))
    torch.testing.assert_close(ours, expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("size", [(480, 720), (720, 480), (100, 1000), (33, 47), (800, 800), (800, 900)])
def test_detector_size_is_the_librarys(size: tuple[int, int]) -> None:
    assert fit_edges(size, 800, 1333) == get_size_with_aspect_ratio(size, 800, 1333)


def test_a_picture_survives_the_way_to_a_tensor_and_back() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    assert np.array_equal(np.asarray(to_picture(to_tensor(Image.fromarray(pixels)))), pixels)


def test_preprocessing_lets_gradients_through_exactly() -> None:
    image = torch.rand(1, 3, 9, 7, dtype=torch.float64, requires_grad=True)

    def prepare(x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.interpolate(
            x, size=(4, 5), mode="bicubic", antialias=True, align_corners=False
        )
        return normalise(y)

    assert torch.autograd.gradcheck(prepare, (image,))
    single = image.detach().float().requires_grad_()
    resize(single, (4, 5)).square().sum().backward()
    assert (single.grad.abs() > 0).all()
