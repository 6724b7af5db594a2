"""Qwen-Image-Layered, tiny and random, as a source of layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from diffusers import QwenImageLayeredPipeline
from diffusers.pipelines.qwenimage import pipeline_qwenimage_layered
from torch import Tensor

from physplan.pictures import to_picture, to_tensor
from physplan.weights import load
from physplan_models.keyframes.diffusers import PictureProcessor
from physplan_models.keyframes.layered import QwenLayers, qwen

WORDS = {"ball#1": "red ball", "vase#2": "vase"}


def masks() -> dict[str, Tensor]:
    found = {id: torch.zeros(32, 48, dtype=torch.bool) for id in WORDS}
    found["ball#1"][4:12, 4:12] = True
    found["vase#2"][10:30, 30:40] = True
    return found


@pytest.fixture
def source(folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> QwenLayers:
    real = pipeline_qwenimage_layered.calculate_dimensions
    monkeypatch.setattr(
        pipeline_qwenimage_layered, "calculate_dimensions", lambda area, ratio: real(64 * 64, ratio)
    )
    options = {"num_inference_steps": 2}
    found = qwen(source=folders("qwen_image_layered"), torch_dtype=torch.float32, options=options)
    assert isinstance(found, QwenLayers)
    return found


def test_its_layers_are_the_librarys(source: QwenLayers, folders: Callable[[str], Path]) -> None:
    image = torch.rand(3, 32, 48, generator=torch.Generator().manual_seed(0))
    found = source(image, WORDS, masks())
    assert found.plate is not None
    assert found.plate.shape == image.shape
    assert 0 <= float(found.plate.min()) <= float(found.plate.max()) <= 1
    assert all(layer.shape == (4, 32, 48) for layer in found.objects.values())
    folder = folders("qwen_image_layered")
    processor = load(PictureProcessor, folder, revision=None, subfolder="processor")
    pipe = QwenImageLayeredPipeline.from_pretrained(folder, dtype=torch.float32, processor=processor)
    pipe.set_progress_bar_config(disable=True)
    theirs = pipe(
        image=to_picture(image).convert("RGBA"), prompt="red ball; vase; the background", negative_prompt=" ",
        layers=4, num_inference_steps=2, generator=torch.Generator().manual_seed(0), output_type="pil",
    ).images[0]  # fmt: skip
    ours = source._drawn(to_picture(image), WORDS)
    assert len(theirs) == len(ours) == 4
    assert all(
        torch.equal(to_tensor(one.convert("RGB")), to_tensor(other.convert("RGB")))
        for one, other in zip(theirs, ours, strict=True)
    )


def test_the_words_decide_the_layers(source: QwenLayers) -> None:
    image = to_picture(torch.rand(3, 32, 48, generator=torch.Generator().manual_seed(0)))
    one, other = (source._drawn(image, words) for words in (WORDS, {"ball#1": "blue cube", "vase#2": "vase"}))
    assert any(a.tobytes() != b.tobytes() for a, b in zip(one, other, strict=True))
