"""One video rated by a vision-language model: a question per dimension, answered from 1 to 5."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np

from physplan.calls.gateway import Gateway
from physplan.calls.protocol import Request
from physplan_bench.phygenbench.judges import encode
from physplan_bench.phyground.aggregate import VideoScores
from physplan_bench.phyground.dataset import Prompt
from physplan_bench.phyground.laws import GENERAL, HIGHEST, LOWEST
from physplan_bench.phyground.templates import Templates

LONG_SIDE = 512  # pixels of a frame that is sent
MAX_ATTEMPTS = 3  # answers without a number are asked for again


class Judge:
    """A model behind the gateway, whose answers are stored, priced and budgeted."""

    def __init__(self, gateway: Gateway, model: str, templates: Templates) -> None:
        self._gateway, self._model, self._templates = gateway, model, templates
        self.name = f"{gateway.client.provider}:{model}"

    def rate(self, frames: Sequence[np.ndarray], prompt: Prompt) -> VideoScores:
        """Every general dimension and every law of the prompt; frames are (H, W, 3) uint8."""
        images = tuple(encode(frame, LONG_SIDE) for frame in frames)
        asked = {name: self._ask(name, prompt, images) for name in (*GENERAL, *prompt.laws)}
        return VideoScores(
            video=prompt.video,
            general={name: asked[name] for name in GENERAL},
            laws={law: asked[law] for law in prompt.laws},
        )

    def _ask(self, name: str, prompt: Prompt, images: tuple) -> float | None:  # type: ignore[type-arg]
        for attempt in range(MAX_ATTEMPTS):
            again = f"\n(Attempt {attempt + 1}.)" if attempt else ""
            request = Request(
                purpose=f"judge_{name}",
                model=self._model,
                system=self._templates.system,
                text=self._templates.question(name, prompt.text) + again,
                images=images,
                schema=answer_schema(name),
                max_output_tokens=1024,
            )
            if (score := read_score(self._gateway.ask(request).reply.text, name)) is not None:
                return score
        return None


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
