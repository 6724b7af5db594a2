"""A judge's answers read back from their JSON, untrusted input: every field is checked."""

from __future__ import annotations

from dataclasses import dataclass

from physplan.graph.errors import ParseError
from physplan.graph.json_values import read_as, read_list, read_object, read_string
from physplan.verify.by_judge import SCHEMA, Answered, Judgement, Reply
from physplan.verify.questions import Question

MAX_ANSWERS = 10_000  # answers, more than any plan has edits


@dataclass(frozen=True, kw_only=True)
class _Answer:
    answer: Reply
    reason: str


def read_judgement(value: object) -> Judgement:
    fields = read_object(value, "$")
    if fields.get("schema") != SCHEMA:
        raise ParseError("$.schema", f"must be {SCHEMA!r}")
    entries = read_list(fields.get("answers"), "$.answers", MAX_ANSWERS)
    return Judgement(
        judge=read_string(fields.get("judge"), "$.judge", 300),
        answers=tuple(_answered(entry, f"$.answers[{i}]") for i, entry in enumerate(entries)),
    )


def _answered(value: object, at: str) -> Answered:
    """An entry is its question with the answer beside it."""
    said = read_as(_Answer, value, at)
    question = read_as(Question, value, at, most=MAX_ANSWERS)
    return Answered(question=question, answer=said.answer, reason=said.reason)
