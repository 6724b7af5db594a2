"""Words of a state and of an edit that cannot both be true: a table of opposites and of colours.

Only words of the table are compared, of one object in one event. A text with words of both sides, or with a
negation, is not decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WORD = re.compile(r"[a-z]+")


def words_of(text: str) -> set[str]:
    return set(WORD.findall(text.casefold()))


OPPOSITES: tuple[tuple[set[str], set[str]], ...] = tuple(
    (words_of(one), words_of(other))
    for one, other in (
        ("larger bigger enlarged grown expanded swollen taller", "smaller shrunk shrunken tinier shorter"),
        ("wet soaked damp moist", "dry dried"),
        ("open opened", "closed shut"),
        ("full filled", "empty emptied"),
        ("hot heated boiling", "cold cooled chilled frozen icy"),
        ("lit burning glowing", "unlit extinguished"),
        ("solid frozen", "liquid molten melted"),
        ("intact whole unbroken", "broken shattered cracked smashed"),
        ("upright standing", "tipped lying fallen toppled"),
        ("inflated", "deflated"),
        ("clean", "dirty muddy stained"),
    )
)
COLOURS = words_of("red orange yellow green blue purple violet pink brown black white grey gray golden")
NEGATIONS = words_of(
    "not no never without less hardly barely neither nor half partly partially nearly almost still from"
)


def contradiction(state: str, value: str) -> tuple[str, str] | None:
    """A word of each that exclude each other; None where none do, or where that cannot be decided."""
    said, edited = words_of(state), words_of(value)
    if (said | edited) & NEGATIONS:
        return None
    for pair in OPPOSITES:
        for one, other in (pair, pair[::-1]):
            if said & one and edited & other and not said & other and not edited & one:
                return min(said & one), min(edited & other)
    ours, theirs = said & COLOURS, edited & COLOURS
    if ours and theirs and not ours & theirs:
        return min(ours), min(theirs)
    return None


def contradictions(states: dict[str, str], changes: list[tuple[int, str, str]]) -> Iterator[tuple[int, str]]:
    """For (index of the edit, object, value): the edit at fault, and the sentence."""
    for index, object, value in changes:
        if object in states and (found := contradiction(states[object], value)):
            yield (
                index,
                f"the delta says {found[0]!r} of {object} and this edit {found[1]!r}: make the two agree",
            )
