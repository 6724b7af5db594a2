"""Local models for the frame questions: CLIP to find frames, BLIP-2 with T5 for a VQAScore. Real classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from physplan.weights import load, load_model
from physplan_bench.phygenbench.protocol import Frame
from physplan_bench.phygenbench.stages import CHOICES
from physplan_bench.pixels import clip_input

BATCH_SIZE = 16


class ClipRanker:
    """Frames by their similarity to a text; also chooses the description nearest to a whole video.

    The official ranker is openai/clip-vit-large-patch14. As a chooser it stands in for InternVideo2, which no
    library here holds; its name in the result says so.
    """

    def __init__(self, source: str, *, device: str = "cpu") -> None:
        from transformers import CLIPModel, CLIPTokenizer

        self._model = load_model(CLIPModel, source).to(device)
        self._tokenizer = load(CLIPTokenizer, source)
        self._device = device
        self.name = f"clip:{source}"

    def rank(self, frames: Sequence[Frame], text: str) -> np.ndarray:
        return (self._images(frames) @ self._texts([text]).T)[:, 0].float().cpu().numpy()

    def choose(self, frames: Sequence[Frame], caption: str, law: str, choices: Sequence[str]) -> int:
        video = F.normalize(self._images(frames).mean(0, keepdim=True), dim=-1)
        texts = self._texts([f"{name}: {text}" for name, text in zip(CHOICES, choices, strict=True)])
        return int((video @ texts.T).argmax())

    @torch.no_grad()
    def _images(self, frames: Sequence[Frame]) -> Tensor:
        side = self._model.config.vision_config.image_size
        parts = [
            embedding(self._model.get_image_features(pixel_values=clip_input(part, side).to(self._device)))
            for part in (frames[i : i + BATCH_SIZE] for i in range(0, len(frames), BATCH_SIZE))
        ]
        return F.normalize(torch.cat(parts), dim=-1)

    @torch.no_grad()
    def _texts(self, texts: Sequence[str]) -> Tensor:
        tokens = self._tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=self._model.config.text_config.max_position_embeddings,
            return_tensors="pt",
        ).to(self._device)
        return F.normalize(embedding(self._model.get_text_features(**tokens)), dim=-1)


def embedding(output: Any) -> Tensor:
    """transformers 5 wraps the projected features; older versions return them bare."""
    return output if isinstance(output, Tensor) else output.pooler_output


class Blip2Scorer:
    """VQAScore: the probability of "Yes" to "does this figure show ...?", by BLIP-2 with a Flan-T5."""

    QUESTION = 'Question: Does this figure show "{text}"? Please answer yes or no. Answer:'

    def __init__(self, source: str, *, device: str = "cpu") -> None:
        from transformers import AutoTokenizer, Blip2ForConditionalGeneration

        self._model = load_model(Blip2ForConditionalGeneration, source).to(device)
        self._tokenizer = load(AutoTokenizer, source)
        self._device = device
        self.name = f"blip2-vqascore:{source}"

    @torch.no_grad()
    def score(self, frame: Frame, text: str) -> float:
        config = self._model.config
        image_tokens = torch.full((1, config.num_query_tokens), config.image_token_index)
        prompt = self._tokenizer(self.QUESTION.format(text=text), return_tensors="pt").input_ids
        answer = self._tokenizer("Yes", return_tensors="pt").input_ids
        prompt = torch.cat([image_tokens, prompt], dim=1).to(self._device)
        output = self._model(
            pixel_values=clip_input([frame], config.vision_config.image_size).to(self._device),
            input_ids=prompt,
            attention_mask=torch.ones_like(prompt),
            labels=answer.to(self._device),
        )
        return float(torch.exp(-output.loss))
