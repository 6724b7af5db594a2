"""Vision-language models as judges, through planning's gateway: stored, priced, budgeted, retried."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from physplan.calls.gateway import Gateway
from physplan.calls.named import connect_named
from physplan.calls.protocol import Request
from physplan.errors import PhysPlanError
from physplan_bench.asking import LONG_SIDE, encode_frames
from physplan_bench.phygenbench.protocol import Frame
from physplan_bench.phygenbench.stages import CHOICES, read_choice

SYSTEM = "You judge frames of a video. Look only at what they show. Answer with the JSON object asked for."
ANSWER = {
    "type": "object",
    "properties": {"choice": {"type": "string"}, "reason": {"type": "string"}},
    "required": ["choice", "reason"],
    "additionalProperties": False,
}


class VLMJudge:
    """Both kinds of question, asked of one model."""

    def __init__(self, gateway: Gateway, model: str) -> None:
        self._gateway, self._model = gateway, model
        self.name = f"{gateway.client.provider}:{model}"

    def ask(self, frames: Sequence[Frame], description: str) -> str:
        text = (
            f"These {len(frames)} frames of a video are in order of time. Does what happens from the first "
            f"to the last match this description?\n\nDescription: {description}\n\n"
            'Put "Yes" or "No" into "choice", and one sentence into "reason".'
        )
        return self._answer("judge_order", frames, text, long_side=1024)

    def choose(self, frames: Sequence[Frame], caption: str, law: str, choices: Sequence[str]) -> int:
        listed = "\n".join(f"{name}: {text}" for name, text in zip(CHOICES, choices, strict=True))
        text = (
            f"These {len(frames)} frames, in order, are from a video made for the prompt: {caption}\n"
            f"The physics in question: {law}\n\n"
            f"Which of these descriptions fits the video best?\n{listed}\n\n"
            f'Be sparing with "{CHOICES[-1]}": choose it only when the physics in question is clearly shown '
            "and nothing contradicts it. Put the name of the description, as written before the colon, into "
            '"choice", and one sentence into "reason".'
        )
        answer = read_choice(self._answer("judge_naturalness", frames, text, long_side=LONG_SIDE))
        for index, name in enumerate(CHOICES):
            if name.lower() in answer.lower():
                return index
        raise PhysPlanError(f"{self.name} answered {answer[:80]!r}, which is none of: {', '.join(CHOICES)}.")

    def _answer(self, purpose: str, frames: Sequence[Frame], text: str, *, long_side: int) -> str:
        request = Request(
            purpose=purpose,
            model=self._model,
            system=SYSTEM,
            text=text,
            images=encode_frames(frames, long_side),
            schema=ANSWER,
            max_output_tokens=2048,
        )
        return self._gateway.ask(request).reply.text


def connect_judge(spec: str, folder: Path | None, *, budget: float | None = None) -> VLMJudge:
    """A judge by its name, with its answers stored in `folder`."""
    return VLMJudge(*connect_named(spec, folder, budget=budget))
