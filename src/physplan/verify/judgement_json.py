"""A judge's answers read back from their JSON, untrusted input: every field is checked."""

from __future__ import annotations

from typing import get_args

from physplan.graph.errors import ParseError
from physplan.graph.json_values import read_integer, read_list, read_number, read_object, read_string
from physplan.verify.by_judge import SCHEMA, Answered, Judgement, Reply
from physplan.verify.questions import Question

MAX_ANSWERS = 10_000  # answers, more than any plan has edits
FIELDS = ("statement", "objects", "event", "edit", "start", "end", "answer", "reason")


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
    fields = read_object(value, at)
    if missing := [name for name in FIELDS if name not in fields and name != "event"]:
        raise ParseError(at, f"lacks the field {missing[0]!r}")
    answer = read_string(fields["answer"], f"{at}.answer")
    if answer not in get_args(Reply):
        raise ParseError(f"{at}.answer", f"must be one of {', '.join(get_args(Reply))}")
    objects = read_list(fields["objects"], f"{at}.objects", MAX_ANSWERS)
    event = fields.get("event")
    return Answered(
        question=Question(
            statement=read_string(fields["statement"], f"{at}.statement"),
            objects=tuple(read_string(one, f"{at}.objects[{i}]") for i, one in enumerate(objects)),
            event=None if event is None else read_integer(event, f"{at}.event"),
            edit=read_string(fields["edit"], f"{at}.edit"),
            start=read_number(fields["start"], f"{at}.start"),
            end=read_number(fields["end"], f"{at}.end"),
        ),
        answer=answer,  # type: ignore[arg-type]
        reason=read_string(fields["reason"], f"{at}.reason"),
    )
