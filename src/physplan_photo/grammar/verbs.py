"""The verbs that the grammar knows: what each is called, how it is said, and what it does to the plan.

`docs/photo.md` shows this table; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """`says`: phrases in the base form; words after the first may also stand after the object."""

    name: str
    says: tuple[str, ...]
    does: str
    example: str


def _read() -> tuple[Verb, ...]:
    text = resources.files(__package__).joinpath("verbs.yaml").read_text(encoding="utf-8")
    entries: dict[str, dict[str, str]] = yaml.safe_load(text)
    return tuple(
        Verb(name=name, **{**entry, "says": tuple(entry["says"].split(", "))})  # type: ignore[arg-type]
        for name, entry in entries.items()
    )


_VERBS = _read()
VERBS: dict[str, Verb] = {verb.name: verb for verb in _VERBS}
# Phrases, the longest first: "fall over" is not "fall".
PHRASES: tuple[tuple[tuple[str, ...], Verb], ...] = tuple(
    sorted(
        ((tuple(phrase.split()), verb) for verb in _VERBS for phrase in verb.says),
        key=lambda entry: -len(entry[0]),
    )
)
