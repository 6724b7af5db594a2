"""One video rated by a vision-language model: a question per dimension, answered from 1 to 5."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from physplan.calls.gateway import Gateway
from physplan.calls.named import connect_named
from physplan.calls.protocol import ImagePart, Request
from physplan_bench.asking import ask_score, encode_frames
from physplan_bench.phyground.aggregate import VideoScores
from physplan_bench.phyground.dataset import Prompt
from physplan_bench.phyground.laws import GENERAL, HIGHEST, LOWEST
from physplan_bench.phyground.templates import Templates


class Judge:
    """A model behind the gateway, whose answers are stored, priced and budgeted."""

    def __init__(self, gateway: Gateway, model: str, templates: Templates) -> None:
        self._gateway, self._model, self._templates = gateway, model, templates

    @classmethod
    def connect(cls, spec: str, calls: Path, budget: float | None, templates: Templates) -> Self:
        """A judge by its name, in the worker that asks it: keys do not travel."""
        return cls(*connect_named(spec, calls, budget=budget), templates)

    def rate(self, frames: Sequence[np.ndarray], prompt: Prompt) -> VideoScores:
        """Every general dimension and every law of the prompt; frames are (H, W, 3) uint8."""
        images = encode_frames(frames)
        asked = {name: self._ask(name, prompt, images) for name in (*GENERAL, *prompt.laws)}
        return VideoScores(
            video=prompt.video,
            general={name: asked[name] for name in GENERAL},
            laws={law: asked[law] for law in prompt.laws},
        )

    def _ask(self, name: str, prompt: Prompt, images: tuple[ImagePart, ...]) -> float | None:
        request = Request(
            purpose=f"judge_{name}",
            model=self._model,
            system=self._templates.system,
            text=self._templates.question(name, prompt.text),
            images=images,
            schema=answer_schema(name),
            max_output_tokens=1024,
        )
        return ask_score(self._gateway, request, lambda answer: read_score(answer, name))


def answer_schema(name: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {name: {"type": "integer"}},
        "required": [name],
        "additionalProperties": False,
    }


def read_score(text: str, name: str) -> float | None:
    """The number under the dimension's key, in the last JSON object of an answer, or None."""
    for found in reversed(re.findall(r"\{[^{}]*\}", text)):
        try:
            value = json.loads(found).get(name)
        except (ValueError, AttributeError):
            continue
        if isinstance(value, int | float) and not isinstance(value, bool) and LOWEST <= value <= HIGHEST:
            return float(value)
    return None
