"""A verdict read back from its JSON. It is untrusted input: every field is checked."""

from __future__ import annotations

from typing import Any, get_args

from physplan.graph.errors import ParseError
from physplan.graph.json_values import read_integer, read_list, read_number, read_object, read_string
from physplan.verify.verdict import (
    NOT_CHECKED,
    SCHEMA,
    Answer,
    BystanderFound,
    Checked,
    EditFound,
    EventFound,
    NotChecked,
    Verdict,
)

MAX_ENTRIES = 10_000  # entries of a list, more than any plan has


def read_verdict(value: object) -> Checked:
    fields = _fields(value, "$", "schema", "verdict")
    if fields["schema"] != SCHEMA:
        raise ParseError("$.schema", f"must be {SCHEMA!r}")
    if fields["verdict"] == NOT_CHECKED:
        return NotChecked(reason=read_string(fields.get("reason", "nobody said why"), "$.reason"))
    fields = _fields(value, "$", "score", "compared_with", "events", "bystanders", "motion")
    compared_with = fields["compared_with"]
    if compared_with not in ("keyframes", "plan"):
        raise ParseError("$.compared_with", "must be 'keyframes' or 'plan'")
    motion = read_object(fields["motion"], "$.motion")
    return Verdict(
        verdict=_answer(fields["verdict"], "$.verdict"),
        score=read_number(fields["score"], "$.score"),
        compared_with=compared_with,
        events=tuple(_event(*one) for one in _entries(fields["events"], "$.events")),
        bystanders=tuple(_bystander(*one) for one in _entries(fields["bystanders"], "$.bystanders")),
        motion={name: read_number(number, f"$.motion.{name}") for name, number in motion.items()},
        repainted=fields.get("repainted") is True,
        smeared=fields.get("smeared") is True,
    )


def _event(value: object, at: str) -> EventFound:
    fields = _fields(value, at, "event", "anchor", "verdict", "value", "stray", "edits")
    return EventFound(
        event=read_integer(fields["event"], f"{at}.event"),
        anchor=read_integer(fields["anchor"], f"{at}.anchor"),
        verdict=_answer(fields["verdict"], f"{at}.verdict"),
        value=read_number(fields["value"], f"{at}.value"),
        stray=read_number(fields["stray"], f"{at}.stray"),
        edits=tuple(_edit(*one) for one in _entries(fields["edits"], f"{at}.edits")),
    )


def _edit(value: object, at: str) -> EditFound:
    fields = _fields(value, at, "edit", "objects", "verdict", "frame")
    objects = _entries(fields["objects"], f"{at}.objects")
    return EditFound(
        edit=read_string(fields["edit"], f"{at}.edit"),
        objects=tuple(read_string(*one) for one in objects),
        value=read_number(fields["value"], f"{at}.value") if "value" in fields else None,
        frame=read_integer(fields["frame"], f"{at}.frame"),
        verdict=_answer(fields["verdict"], f"{at}.verdict"),
    )


def _bystander(value: object, at: str) -> BystanderFound:
    fields = _fields(value, at, "object", "kept", "change", "frame")
    if not isinstance(fields["kept"], bool):
        raise ParseError(f"{at}.kept", "must be true or false")
    return BystanderFound(
        object=read_string(fields["object"], f"{at}.object"),
        kept=fields["kept"],
        change=read_number(fields["change"], f"{at}.change"),
        frame=read_integer(fields["frame"], f"{at}.frame"),
    )


def _answer(value: object, at: str) -> Answer:
    for known in get_args(Answer):
        if value == known:
            return known  # type: ignore[no-any-return]
    raise ParseError(at, f"must be one of {', '.join(get_args(Answer))}")


def _entries(value: object, at: str) -> list[tuple[Any, str]]:
    return [(entry, f"{at}[{i}]") for i, entry in enumerate(read_list(value, at, MAX_ENTRIES))]


def _fields(value: object, at: str, *required: str) -> dict[str, Any]:
    fields = read_object(value, at)
    for name in required:
        if name not in fields:
            raise ParseError(at, f"lacks the field {name!r}")
    return fields
