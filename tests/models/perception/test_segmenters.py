from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers.models.grounding_dino.image_processing_pil_grounding_dino import (
    GroundingDinoImageProcessorPil,
)
from transformers.models.grounding_dino.processing_grounding_dino import GroundingDinoProcessor

from physplan.perception import Instance
from physplan.perception.registry import SEGMENTERS
from physplan_models.perception.suppression import suppress_duplicates

Folders = Callable[[str], Path]
CATEGORIES = ("ice cube", "tray")


@pytest.fixture
def image() -> torch.Tensor:
    return torch.rand(3, 48, 72, generator=torch.Generator().manual_seed(0))


@pytest.fixture(params=["grounded-sam-2", "sam-3"])
def segmenter(request: pytest.FixtureRequest, folders: Folders) -> object:
    cls = SEGMENTERS.load(request.param)
    if request.param == "sam-3":
        return cls.from_pretrained(folders("sam3"), threshold=0.0)
    return cls.from_pretrained(folders("grounding_dino"), folders("sam2"), threshold=0.0, edges=(64, 96))


@pytest.fixture
def grounded(folders: Folders) -> object:
    return SEGMENTERS.load("grounded-sam-2").from_pretrained(
        folders("grounding_dino"), folders("sam2"), threshold=0.3, edges=(64, 96)
    )


def test_instances_have_the_asked_categories_and_masks_of_the_image(segmenter, image: torch.Tensor) -> None:
    instances = segmenter.segment(image, CATEGORIES)
    assert instances
    for instance in instances:
        assert instance.category in CATEGORIES
        assert instance.mask.dtype == torch.bool
        assert instance.mask.shape == (48, 72)
        assert instance.mask.any()
        assert 0 <= instance.score <= 1


def test_the_same_picture_gives_the_same_instances(segmenter, image: torch.Tensor) -> None:
    first, second = (segmenter.segment(image, CATEGORIES) for _ in range(2))
    assert [i.score for i in first] == [i.score for i in second]
    assert all(torch.equal(a.mask, b.mask) for a, b in zip(first, second, strict=True))


def test_nothing_above_the_threshold_is_nothing_found(segmenter, image: torch.Tensor) -> None:
    segmenter.threshold = 1.0
    assert segmenter.segment(image, CATEGORIES) == ()


def test_a_box_gets_the_category_whose_words_it_matches(
    grounded, image: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the detector's scores and boxes are set by hand; prompt, categories and SAM 2 are real."""
    # [CLS] ice cube . tray . [SEP]
    logits = torch.full((1, 3, 256), -9.0)
    logits[0, 0, 4] = 3.0
    logits[0, 1, 2] = 2.0
    boxes = torch.tensor([[[0.25, 0.5, 0.5, 1.0], [0.75, 0.5, 0.5, 1.0], [0.5, 0.5, 1.0, 1.0]]])
    asked: list[torch.Tensor] = []
    monkeypatch.setattr(
        grounded.detector, "forward", lambda **inputs: SimpleNamespace(logits=logits, pred_boxes=boxes)
    )
    real = grounded.sam.forward

    def spy(**inputs: torch.Tensor):
        asked.append(inputs["input_boxes"])
        return real(**inputs)

    monkeypatch.setattr(grounded.sam, "forward", spy)
    found = {one.category: one.score for one in grounded.segment(image, CATEGORIES)}
    assert found == pytest.approx({"tray": 0.952574, "ice cube": 0.880797})
    assert asked[0].tolist() == [[[0, 0, 32, 64], [32, 0, 64, 64]]]


def test_the_prompt_is_the_one_the_librarys_processor_writes(grounded, image: torch.Tensor) -> None:
    processor = GroundingDinoProcessor(GroundingDinoImageProcessorPil(), grounded.tokenizer)
    expected = processor.tokenizer(processor._preprocess_input_text([list(CATEGORIES)]))["input_ids"][0]
    ((ids, spans),) = grounded._prompts(CATEGORIES)
    assert ids == expected
    words = {name: grounded.tokenizer.convert_ids_to_tokens(ids[span]) for name, span in spans.items()}
    assert words == {"ice cube": ["ice", "cube"], "tray": ["tray"]}


def test_scores_and_boxes_are_those_of_the_librarys_postprocessing(grounded, image: torch.Tensor) -> None:
    grounded.threshold = 0.0
    ((ids, spans),) = grounded._prompts(("ice cube",))
    outputs: list = []
    hook = grounded.detector.register_forward_hook(lambda _m, _i, output: outputs.append(output))
    ours = list(grounded._detect(image, ids, spans))
    hook.remove()
    processor = GroundingDinoProcessor(GroundingDinoImageProcessorPil(), grounded.tokenizer)
    (theirs,) = processor.post_process_grounded_object_detection(
        outputs[0], torch.tensor([ids]), threshold=0.0, target_sizes=[(1, 1)]
    )
    torch.testing.assert_close(torch.stack([box for *_, box in ours]), theirs["boxes"].clamp(0, 1))
    # Theirs is the best of all tokens, delimiters included; ours the best of the category's own words.
    assert all(
        score <= other + 1e-6 for (_, score, _), other in zip(ours, theirs["scores"].tolist(), strict=True)
    )


def test_categories_beyond_the_detectors_text_length_go_into_more_prompts(grounded) -> None:
    grounded.detector.config.max_text_len = 9
    categories = ("ice cube", "red ball", "tray", "cup. mug?")
    prompts = list(grounded._prompts(categories))
    assert [tuple(spans) for _, spans in prompts] == [("ice cube", "red ball"), ("tray", "cup. mug?")]
    assert all(len(ids) <= 9 for ids, _ in prompts)
    grounded.detector.config.max_text_len = 256


def test_an_object_found_twice_is_one_instance() -> None:
    mask = torch.zeros(8, 8, dtype=torch.bool)
    mask[2:6, 2:6] = True
    almost = mask.clone()
    almost[2, 2] = False
    other = torch.roll(mask, 2, 1)
    found = [
        Instance(category="cup", mask=almost, score=0.5),
        Instance(category="cup", mask=mask, score=0.9),
        Instance(category="cup", mask=other, score=0.4),
        Instance(category="mug", mask=mask, score=0.3),
    ]
    assert [one.score for one in suppress_duplicates(found)] == [0.9, 0.4, 0.3]
