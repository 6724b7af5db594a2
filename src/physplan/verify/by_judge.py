"""A vision-language model as a second judge: it answers the plan's questions beside perception's verdict.

One call per event and one for the bystanders. Frames are sent with their times, at most `MOST` of them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from physplan.calls.gateway import Gateway
from physplan.calls.protocol import ImagePart, Request
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.verify.questions import Question, legend, questions_of
from physplan.verify.verdict import Verdict

Reply = Literal["yes", "no", "unclear"]
MOST, SIDE = 8, 768  # frames of one call, pixels of their longer side
SCHEMA = "physplan.judgement/1"
SYSTEM = (
    "You judge frames of a video, each with its time. For every numbered statement say whether the frames "
    'show that it is true: "yes", "no", or "unclear" where they do not show it well enough. Judge what is '
    "visible, not what is likely. Answer with the JSON object asked for."
)
ANSWER: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "answers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "answer": {"type": "string", "enum": list(get_args(Reply))},
                    "reason": {"type": "string"},
                },
                "required": ["number", "answer", "reason"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["answers"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    question: Question
    answer: Reply
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    judge: str
    answers: tuple[Answered, ...]

    @property
    def score(self) -> float:
        """The share of statements found true; one that is unclear counts half."""
        worth = {"yes": 1.0, "unclear": 0.5, "no": 0.0}
        return sum(worth[one.answer] for one in self.answers) / max(len(self.answers), 1)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "judge": self.judge,
            "score": round(self.score, 4),
            "answers": [
                {**asdict(one.question), "answer": one.answer, "reason": one.reason} for one in self.answers
            ],
        }


def ask_judge(chain: EventChain, frames: Tensor, *, gateway: Gateway, model: str, fps: float) -> Judgement:
    """The plan's questions about frames [F, 3, H, W] in [0, 1], which span the plan's frames."""
    asked = questions_of(chain, fps)
    groups = [[one for one in asked if one.event == event] for event in dict.fromkeys(q.event for q in asked)]
    answers: list[Answered] = []
    for group in groups:
        answers += _ask(chain, frames, group, gateway=gateway, model=model, fps=fps)
    return Judgement(judge=f"{gateway.client.provider}:{model}", answers=tuple(answers))


def _ask(
    chain: EventChain, frames: Tensor, group: Sequence[Question], *, gateway: Gateway, model: str, fps: float
) -> list[Answered]:
    count = chain.num_frames
    shown = times_shown(group, count, fps)
    stamps = ", ".join(f"frame {i + 1} at {t / fps:.2f} s" for i, t in enumerate(shown))
    statements = "\n".join(f"{i + 1}. {one.text()}" for i, one in enumerate(group))
    names = legend(chain, [id for one in group for id in one.objects])
    text = (
        f"The {len(shown)} frames are: {stamps}. The video was asked for as: {chain.prompt}\n\n"
        f"The objects:\n{names}\n\nStatements:\n{statements}\n\n"
        'Answer {"answers": [{"number": 1, "answer": "yes", "reason": "one sentence"}, ...]}, one entry for '
        "each statement."
    )
    at = [round(t * (len(frames) - 1) / max(count - 1, 1)) for t in shown]
    request = Request(
        purpose="judge_video",
        model=model,
        system=SYSTEM,
        text=text,
        images=tuple(_encoded(frames[i]) for i in at),
        schema=ANSWER,
        max_output_tokens=4096,
    )
    return read_answers(gateway.ask(request).reply.text, group)


def times_shown(group: Sequence[Question], count: int, fps: float) -> list[int]:
    """Plan frames of one call: the first, then spread to the end of what is asked."""
    start, end = (round(max(getattr(one, name) for one in group) * fps) for name in ("start", "end"))
    inside = torch.linspace(start, min(end, count - 1), MOST // 2).round().int().tolist()
    before = torch.linspace(0, start, MOST - MOST // 2).round().int().tolist()
    return sorted({*before, *inside})


def read_answers(text: str, group: Sequence[Question]) -> list[Answered]:
    """An answer for every statement; one that is left out is unclear."""
    try:
        entries = json.loads(text)["answers"]
        found = {int(entry["number"]): entry for entry in entries}
    except (ValueError, KeyError, TypeError) as error:
        raise PhysPlanError(f"The judge's answer cannot be read ({error!r}): ask again or another.") from None
    answers = []
    for number, question in enumerate(group, 1):
        entry = found.get(number, {})
        reply = str(entry.get("answer", "unclear")).strip().lower()
        answers.append(
            Answered(
                question=question,
                answer=reply if reply in get_args(Reply) else "unclear",  # type: ignore[arg-type]
                reason=str(entry.get("reason", "no answer"))[:500],
            )
        )
    return answers


def _encoded(frame: Tensor) -> ImagePart:
    from PIL import Image

    from physplan.pictures import to_picture
    from physplan.reasoning.picture import Picture

    image = to_picture(frame)
    image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    return Picture(image).part


def agreement_with(verdict: Verdict, judgement: Judgement) -> dict[str, Any]:
    """Where perception and the judge both say yes or no: how often they agree, with Cohen's kappa."""
    found = {(event.event, edit.edit): edit.verdict for event in verdict.events for edit in event.edits} | {
        (None, one.object): "holds" if one.kept else "fails" for one in verdict.bystanders
    }
    said = {"holds": True, "fails": False, "yes": True, "no": False}
    pairs = [
        (said[found[key]], said[one.answer])
        for one in judgement.answers
        if (key := (one.question.event, one.question.edit)) in found
        and found[key] in said
        and one.answer in said
    ]
    agree, kappa = sum(a == b for a, b in pairs), cohens_kappa(pairs)
    return {"compared": len(pairs), "agree": agree, "kappa": None if kappa is None else round(kappa, 4)}


def cohens_kappa(pairs: Sequence[tuple[object, object]]) -> float | None:
    """(p - e) / (1 - e) of two judges' answers; None where chance alone agrees always."""
    n = len(pairs)
    mine, theirs = (Counter(pair[k] for pair in pairs) for k in (0, 1))
    chance = sum(mine[one] * theirs[one] for one in mine) / n**2 if n else 1.0
    if math.isclose(chance, 1.0):
        return None
    return (sum(a == b for a, b in pairs) / n - chance) / (1 - chance)
