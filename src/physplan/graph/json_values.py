"""Reading JSON values of unknown origin: bounded, and every error names the place."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from physplan.graph.errors import GraphError, LimitError, ParseError
from physplan.graph.text_checks import describe, shorten, text_problem
from physplan.graph.vocabulary import suggest


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a reply may hold. The defaults are for models' replies; `Limits.FILE` is for plans."""

    max_bytes: int = 1_000_000
    max_depth: int = 16
    max_entries: int = 20_000
    max_value: int = 80
    max_text: int = 400
    max_nodes: int = 40
    max_edges: int = 2_000
    max_edits: int = 200
    max_events: int = 7

    FILE: ClassVar[Limits]


Limits.FILE = Limits(
    max_bytes=50_000_000,
    max_depth=60,
    max_entries=2_000_000,
    max_value=1_000,
    max_text=10_000,
    max_nodes=2_000,
    max_edges=20_000,
    max_edits=2_000,
    max_events=100,
)


_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_MARKS = re.compile(r"[\[\]{},]")


def require_shape(text: str, limits: Limits) -> None:
    """Refuse deep nesting and too many entries before a parser makes objects of them."""
    opened = text.count("[") + text.count("{")
    if opened <= limits.max_depth and opened + text.count(",") <= limits.max_entries:
        return
    depth = entries = 0
    for mark in _MARKS.finditer(_STRINGS.sub("", text)):
        depth += {"[": 1, "{": 1, ",": 0}.get(mark[0], -1)
        entries += mark[0] in "[{,"  # each begins one
        if depth > limits.max_depth:
            raise LimitError("$", f"is nested deeper than {limits.max_depth} levels: flatten it")
        if entries > limits.max_entries:
            raise LimitError("$", f"has more than {limits.max_entries} entries: answer more briefly")


@contextmanager
def located(at: str) -> Iterator[None]:
    """Give an error of a constructor its place in the file."""
    try:
        yield
    except ParseError:
        raise
    except GraphError as error:
        raise ParseError(at, str(error)) from error


@contextmanager
def in_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of the file before the place in it."""
    try:
        yield
    except ParseError as error:
        raise type(error)(f"{os.fspath(path)}: {error.at}", error.problem) from None
    except OSError as error:
        raise ParseError(os.fspath(path), f"cannot be read: {error.strerror or error}") from None


def read_object(
    value: object, at: str, required: Sequence[str] = (), optional: Sequence[str] | None = None
) -> dict[str, Any]:
    """A JSON object with exactly these fields; null counts as not given. Without names, any fields."""
    if not isinstance(value, dict):
        raise ParseError(at, f"must be an object {{...}}, not {describe(value)}")
    fields = {key: field for key, field in value.items() if field is not None}
    for name in required:
        if name not in fields:
            raise ParseError(at, f"lacks the field {name!r}: add it")
    if required or optional is not None:
        known = (*required, *(optional or ()))
        for name in fields:
            if name not in known:
                raise ParseError(
                    at, f"has the unknown field {shorten(str(name))}: {suggest(str(name)[:80], known)}"
                )
    return fields


def read_list(value: object, at: str, limit: int) -> list[Any]:
    if not isinstance(value, list):
        raise ParseError(at, f"must be a list [...], not {describe(value)}")
    if len(value) > limit:
        raise LimitError(at, f"has {len(value)} entries, the limit is {limit}: leave out the least important")
    return value


def read_text(value: object, at: str, limit: int) -> str:
    if isinstance(value, str) and len(value) > limit:
        raise LimitError(at, f"has {len(value)} characters, the limit is {limit}: shorten it")
    if problem := text_problem(value):
        raise ParseError(at, problem)
    assert isinstance(value, str)
    return value


def read_string(value: object, at: str, limit: int = 100_000) -> str:
    """Any text of a bounded length, empty and of several lines too: to be shown, not to be a name."""
    if not isinstance(value, str):
        raise ParseError(at, f"must be a string, not {describe(value)}")
    if len(value) > limit:
        raise LimitError(at, f"has {len(value)} characters, the limit is {limit}: shorten it")
    return value


def read_number(value: object, at: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParseError(at, f"must be a number, not {describe(value)}")
    if abs(value) > 1e300 or not math.isfinite(value):
        raise ParseError(at, "must be a finite number")
    return float(value)


def read_integer(value: object, at: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParseError(at, f"must be a whole number, not {describe(value)}")
    return value


@cache
def _fields_of(kind: type) -> list[tuple[str, Any, bool]]:
    """Name and type of a dataclass's fields, and whether they must be given."""
    hints = get_type_hints(kind)
    return [
        (f.name, hints[f.name], f.default is MISSING and f.default_factory is MISSING) for f in fields(kind)
    ]


def read_as(kind: Any, value: object, at: str, *, most: int = 100_000) -> Any:
    """A JSON value of this type: str, int, float, bool, a Literal, `tuple[X, ...]`, `Mapping[str, X]`,
    X | None, or a dataclass of such. What a dataclass lacks may be there: a later version may write more."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        make: Any = kind
        return make(**_read_fields(make, read_object(value, at), at, most))
    if origin is Literal:
        if value not in inner:
            raise ParseError(at, f"must be one of {', '.join(map(str, inner))}")
        return value
    if origin is tuple:
        entries = enumerate(read_list(value, at, most))
        return tuple(read_as(inner[0], entry, f"{at}[{i}]", most=most) for i, entry in entries)
    if origin in (Mapping, dict):
        named = read_object(value, at).items()
        return {name: read_as(inner[1], entry, f"{at}.{name}", most=most) for name, entry in named}
    if origin is UnionType:
        return read_as(next(one for one in inner if one is not NoneType), value, at, most=most)
    if kind is Any:
        return value
    if kind is bool:
        if not isinstance(value, bool):
            raise ParseError(at, "must be true or false")
        return value
    readers: dict[Any, Callable[[object, str], Any]]
    readers = {str: read_string, int: read_integer, float: read_number}
    return readers[kind](value, at)


def _read_fields(kind: type, given: dict[str, Any], at: str, most: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, hint, needed in _fields_of(kind):
        if name in given:
            found[name] = read_as(hint, given[name], f"{at}.{name}", most=most)
        elif needed and NoneType not in get_args(hint):
            raise ParseError(at, f"lacks the field {name!r}")
        elif needed:
            found[name] = None
    return found
