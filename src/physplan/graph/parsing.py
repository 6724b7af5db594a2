"""Untrusted replies to domain types: strict JSON, bounded in size and depth, and only typed errors."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from typing import Any, TypeVar

from physplan.foreign import read_file
from physplan.graph.deltas import PhysicalDelta
from physplan.graph.edits import GraphEdit, edits_from_json
from physplan.graph.errors import LimitError, ParseError
from physplan.graph.json_values import Limits, in_file, read_list, read_object, require_shape
from physplan.graph.motion import Motion, motions_from_json
from physplan.graph.state import StateGraph
from physplan.graph.text_checks import shorten

T = TypeVar("T")
_DEFAULT = Limits()
_MAX_DIGITS = 400


class _Duplicated(dict[str, Any]):
    """An object in which a key occurs twice, until the walk names its place."""

    key: str


class _BadNumber:
    """A number that JSON does not know or a float cannot hold."""

    def __init__(self, text: str) -> None:
        self.text = text


def parse_json(text: str | bytes, limits: Limits = _DEFAULT) -> Any:
    """Strict JSON: no NaN or Infinity, no key twice, bounded size and depth. Errors name the place."""
    text = _decode(text, limits)
    require_shape(text, limits)
    suspects: list[object] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) == len(items):
            return value
        duplicated = _Duplicated(value)
        seen: set[str] = set()
        duplicated.key = next(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        suspects.append(duplicated)
        return duplicated

    def number(digits: str) -> float | int | _BadNumber:
        if len(digits) <= _MAX_DIGITS and digits not in ("NaN", "Infinity", "-Infinity"):
            value = float(digits)
            if math.isfinite(value):
                return value if set(digits) & set(".eE") else int(digits)
        bad = _BadNumber(shorten(digits, 20))
        suspects.append(bad)
        return bad

    try:
        value = json.loads(
            text, object_pairs_hook=pairs, parse_int=number, parse_float=number, parse_constant=number
        )
    except json.JSONDecodeError as error:
        raise ParseError(
            f"line {error.lineno}, column {error.colno}", f"not valid JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise LimitError("$", f"is nested deeper than {limits.max_depth} levels: flatten it") from None
    if suspects:
        _name_place(value)
    return value


def parse_file(
    path: str | os.PathLike[str], parse: Callable[[bytes, Limits], T], limits: Limits = Limits.FILE
) -> T:
    """`parse` a file, read no further than the limit; errors name the file and the place in it."""
    with in_file(path):
        return parse(read_file(path, limit=limits.max_bytes), limits)


def parse_graph(reply: object, limits: Limits = _DEFAULT) -> StateGraph:
    """Prompt 1's reply: text, bytes or the JSON value."""
    return StateGraph.from_json(_value(reply, limits), limits=limits)


def parse_deltas(reply: object, limits: Limits = _DEFAULT) -> tuple[PhysicalDelta, ...]:
    """Prompt 2's reply: `{"deltas": [...]}`."""
    fields = read_object(_value(reply, limits), "$", ("deltas",))
    entries = read_list(fields["deltas"], "$.deltas", limits.max_events)
    if not entries:
        raise ParseError("$.deltas", "is empty: name at least one event")
    return tuple(
        PhysicalDelta.from_json(entry, limits=limits, at=f"$.deltas[{i}]") for i, entry in enumerate(entries)
    )


def parse_delta(reply: object, limits: Limits = _DEFAULT) -> PhysicalDelta:
    """One entry of prompt 2's reply."""
    return PhysicalDelta.from_json(_value(reply, limits), limits=limits)


def parse_edits(reply: object, limits: Limits = _DEFAULT) -> tuple[GraphEdit, ...]:
    """Prompt 3's reply: `{"edits": [...]}`."""
    fields = read_object(_value(reply, limits), "$", ("edits",))
    return edits_from_json(fields["edits"], limits=limits, at="$.edits")


def parse_translation(
    reply: object, limits: Limits = _DEFAULT
) -> tuple[tuple[GraphEdit, ...], tuple[Motion, ...]]:
    """Prompt 3's reply with how things move: `{"edits": [...], "motion": [...]}`; motion may be left out."""
    fields = read_object(_value(reply, limits), "$", ("edits",), ("motion",))
    edits = edits_from_json(fields["edits"], limits=limits, at="$.edits")
    return edits, motions_from_json(fields.get("motion", []), limits=limits, at="$.motion")


def _value(reply: object, limits: Limits) -> object:
    return parse_json(reply, limits) if isinstance(reply, str | bytes) else reply


def _decode(text: str | bytes, limits: Limits) -> str:
    too_long = LimitError("$", f"is longer than {limits.max_bytes} bytes: answer more briefly")
    if len(text) > limits.max_bytes:
        raise too_long
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise ParseError(f"line {line}", f"not UTF-8 text (byte {error.start})") from None
    elif not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > limits.max_bytes:
        raise too_long
    return text.removeprefix("\ufeff")


def _name_place(value: object) -> None:
    """Walk to the first thing that JSON forbids, and raise with its path."""
    stack: list[tuple[str, object]] = [("$", value)]
    while stack:
        at, here = stack.pop()
        if isinstance(here, _Duplicated):
            raise ParseError(at, f"has the key {shorten(here.key)} twice: keep one")
        if isinstance(here, _BadNumber):
            raise ParseError(at, f"{here.text} is not a finite number: give a plain number")
        if isinstance(here, dict):
            stack.extend((f"{at}.{shorten(key)[1:-1]}", child) for key, child in here.items())
        elif isinstance(here, list):
            stack.extend((f"{at}[{i}]", child) for i, child in enumerate(here))
