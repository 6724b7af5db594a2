"""Identifiers, values and attribute maps: the small pieces that every other type is made of."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from physplan.graph.errors import GraphError
from physplan.graph.vocabulary import canonical

_IDENTIFIER = re.compile(r"[^#\s](?:[^#]*[^#\s])?#(?:0|[1-9][0-9]{0,8})")


def text_problem(value: object) -> str | None:
    """Why `value` cannot be an identifier, a name or a value; None when it can.

    Control and format characters, lone surrogates and unnormalised text are refused: they make two names
    look alike, break terminals and files, and never describe an object.
    """
    if not isinstance(value, str):
        return f"must be a string, not {describe(value)}"
    if not value or value.isspace():
        return "is empty: give a word or a short phrase"
    if not value.isprintable():
        code = next(ord(character) for character in value if not character.isprintable())
        return f"contains the unprintable character U+{code:04X}: use plain text on one line"
    if value[0] == " " or value[-1] == " ":
        return "starts or ends with a space: remove it"
    if not value.isascii() and not unicodedata.is_normalized("NFC", value):
        return "is not in Unicode normal form C: write it with composed characters"
    return None


def require_text(value: object, what: str, error: type[GraphError]) -> None:
    if problem := text_problem(value):
        raise error(f"{what} {problem}")


def identifier_problem(value: object) -> str | None:
    """Why `value` is not of the form <category>#<n>; None when it is."""
    if problem := text_problem(value):
        return problem
    assert isinstance(value, str)
    if not _IDENTIFIER.fullmatch(value):
        return f"{shorten(value)} is not of the form <category>#<n>, such as cup#3"
    return None


def shorten(value: str, limit: int = 60) -> str:
    """`value` quoted for a message, never long."""
    return repr(value if len(value) <= limit else value[: limit - 1] + "…")


def describe(value: object) -> str:
    """What kind of JSON value this is, with a short text where that helps."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return f"the text {shorten(value, 40)}"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else f"a {type(value).__name__}"


class Attributes(Mapping[str, str]):
    """An immutable, hashable, picklable map from keys to values. Unknown keys are kept for the checks."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str], error: type[GraphError] = GraphError) -> None:
        self._values: dict[str, str] = {}
        for key, value in values.items():
            require_text(key, "an attribute key", error)
            name = canonical(key)
            if name in self._values:
                raise error(f"attribute {name!r} is given twice: keep one value")
            require_text(value, f"attribute {shorten(name)}", error)
            self._values[name] = value

    def merged(self, changes: dict[str, str]) -> Attributes:
        """These attributes with some replaced; `changes` come from edits and are validated already."""
        merged = Attributes.__new__(Attributes)
        merged._values = self._values | changes
        return merged

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Attributes):
            return self._values == other._values
        return self._values == other

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)

    def __reduce__(self) -> tuple[type[Attributes], tuple[dict[str, str]]]:
        return Attributes, (self._values,)


def as_attributes(values: object, error: type[GraphError]) -> Attributes:
    if isinstance(values, Attributes):
        return values
    if not isinstance(values, Mapping):
        raise error(f"attributes must be an object of keys and values, not {describe(values)}")
    return Attributes(values, error)
