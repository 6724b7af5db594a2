"""Grounded-SAM-2: Grounding DINO finds boxes for named categories, SAM 2 turns boxes into masks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import BertTokenizer, GroundingDinoForObjectDetection, Sam2Model

from physplan.perception.images import fit_edges, masks_from_logits, normalise, resize, size_of
from physplan.perception.protocol import Instance
from physplan.weights import load, load_model
from physplan_models.perception.suppression import suppress_duplicates


class GroundedSAM2:
    """`threshold` is the least confidence of a box; `edges` its shortest and longest image side."""

    def __init__(
        self,
        detector: GroundingDinoForObjectDetection,
        tokenizer: BertTokenizer,
        sam: Sam2Model,
        *,
        threshold: float = 0.3,
        edges: tuple[int, int] = (800, 1333),
        max_boxes: int = 50,
    ) -> None:
        self.detector, self.tokenizer, self.sam = detector, tokenizer, sam
        self.threshold, self.edges, self.max_boxes = threshold, edges, max_boxes

    @classmethod
    def from_pretrained(
        cls,
        detector: str | os.PathLike[str] = "IDEA-Research/grounding-dino-tiny",
        sam: str | os.PathLike[str] = "facebook/sam2.1-hiera-large",
        *,
        detector_revision: str | None = None,
        sam_revision: str | None = None,
        torch_dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        **settings: Any,
    ) -> GroundedSAM2:
        boxes = load_model(
            GroundingDinoForObjectDetection, detector, revision=detector_revision, dtype=torch_dtype
        )
        masks = load_model(Sam2Model, sam, revision=sam_revision, dtype=torch_dtype)
        tokenizer = load(BertTokenizer, detector, revision=detector_revision)
        return cls(boxes.to(device), tokenizer, masks.to(device), **settings)

    @torch.no_grad()
    def segment(self, image: Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
        found = [box for group in self._prompts(categories) for box in self._detect(image, *group)]
        found = sorted(found, key=lambda one: -one[1])[: self.max_boxes]
        if not found:
            return ()
        masks = self._masks(image, torch.stack([box for _, _, box in found]))
        return suppress_duplicates(
            Instance(category=category, mask=mask, score=score)
            for (category, score, _), mask in zip(found, masks, strict=True)
        )

    def _prompts(self, categories: Sequence[str]) -> Iterator[tuple[list[int], dict[str, slice]]]:
        """Token ids of "[CLS] ice cube. tray. [SEP]" and where each category is in them; more than one prompt
        where they do not fit into one."""
        dot = self.tokenizer.convert_tokens_to_ids(".")
        ids: list[int] = [self.tokenizer.cls_token_id]
        spans: dict[str, slice] = {}
        for category in categories:
            # A dot or question mark inside a category would end it early.
            phrase = category.lower().replace(".", " ").replace("?", " ")
            tokens = self.tokenizer.encode(phrase, add_special_tokens=False)
            if spans and len(ids) + len(tokens) + 2 > self.detector.config.max_text_len:
                yield [*ids, self.tokenizer.sep_token_id], spans
                ids, spans = [self.tokenizer.cls_token_id], {}
            spans[category] = slice(len(ids), len(ids) + len(tokens))
            ids = [*ids, *tokens, dot]
        if spans:
            yield [*ids, self.tokenizer.sep_token_id], spans

    def _detect(
        self, image: Tensor, ids: list[int], spans: dict[str, slice]
    ) -> Iterator[tuple[str, float, Tensor]]:
        """(category, score, box) of every box; boxes are (x0, y0, x1, y1) in [0, 1]."""
        model = self.detector
        pixels = normalise(resize(image[None], fit_edges(size_of(image), *self.edges), "bilinear"))
        output = model(
            pixel_values=pixels.to(model.device, model.dtype),
            input_ids=torch.tensor([ids], device=model.device),
        )
        # A box belongs to the category one of whose words it matches best.
        words = output.logits[0].float().sigmoid()
        scores = torch.stack([words[:, span].amax(1) for span in spans.values()], dim=1)
        best, which = scores.max(1)
        centres, extents = output.pred_boxes[0].float().split(2, dim=1)
        boxes = torch.cat([centres - extents / 2, centres + extents / 2], dim=1).clamp(0, 1)
        names = list(spans)
        for row in torch.nonzero(best > self.threshold).flatten().tolist():
            yield names[which[row]], float(best[row]), boxes[row]

    def _masks(self, image: Tensor, boxes: Tensor) -> Tensor:
        """Bool masks [N, H, W] for boxes [N, 4] in [0, 1]."""
        side = self.sam.config.prompt_encoder_config.image_size
        pixels = normalise(resize(image[None], (side, side), "bilinear"))
        output = self.sam(
            pixel_values=pixels.to(self.sam.device, self.sam.dtype),
            input_boxes=(boxes[None] * side).to(self.sam.device, self.sam.dtype),
            multimask_output=False,
        )
        return masks_from_logits(output.pred_masks[0, :, 0], size_of(image)).cpu()
