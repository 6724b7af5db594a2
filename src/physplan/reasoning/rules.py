"""Rules of physical deltas are qualitative: what changes and why, never by how much (section 3.1)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from physplan.graph import PhysicalDelta, StateGraph

IDENTIFIER = re.compile(r"[\w-]+(?: [\w-]+)?#\d+")
# H2O and CO2 are names, not quantities: capital letters with counts, at least two elements or a subscript.
FORMULA = re.compile(r"\b(?:[A-Z][a-z]?\d{0,2}){2,}\b|\bO[23]\b|\bN2\b|\bH2\b")
UNITS = (
    r"percent|per cent|degrees?|kelvin|celsius|fahrenheit|times|fold|seconds?|minutes?|hours?|days?|"
    r"(?:milli|centi|kilo)?met(?:er|re)s?|inch(?:es)?|feet|foot|miles?|(?:kilo)?grams?|tons?|pounds?|"
    r"(?:milli)?lit(?:er|re)s?|newtons?|joules?|watts?|volts?|pascals?|g"
)
WORDS = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety|hundreds?|thousands?|millions?|half|third|quarter|dozen"
)
QUANTITY = re.compile(
    rf"\b(?:{WORDS})(?:[ -](?:an?|and|{WORDS}))*[ -](?:of an? )?(?:{UNITS})\b", re.IGNORECASE
)


def quantity_in(rule: str) -> str | None:
    """The first number in a rule, in digits or as a number word with a unit; None for a qualitative rule."""
    text = IDENTIFIER.sub("it", rule)
    text = FORMULA.sub("it", text)
    if match := QUANTITY.search(text):
        return match.group()
    for word in text.split():
        if any(character.isdigit() or unicodedata.category(character) == "No" for character in word):
            return word.strip(".,;:()")
    return None


def delta_problems(
    graph: StateGraph, deltas: tuple[PhysicalDelta, ...], gone: Collection[str] = frozenset()
) -> list[str]:
    """What is wrong with a sequence of deltas that starts from `graph`: one sentence each, with its place."""
    problems: list[str] = []
    known = set(graph.ids)
    for index, delta in enumerate(deltas, start=1):
        new = {entry.id: entry.source for entry in delta.new_objects()}
        for change in delta.states:
            where = f"event {index}, {change.object}"
            if change.object not in known and change.object not in new:
                problems.append(
                    f"{where}: there is no such object at that time; use one of {', '.join(sorted(known))}, "
                    "or announce it as a new object"
                )
            if (quantity := quantity_in(change.rule)) is not None:
                problems.append(
                    f"{where}: the rule {change.rule!r} holds the quantity {quantity!r}; state it in words "
                    "only, without numbers or units"
                )
        for id, source in new.items():
            if id in known or id in gone:
                problems.append(f"event {index}: the new identifier {id} is taken; choose another number")
            if source not in known:
                problems.append(
                    f"event {index}: {id} comes from {source}, which does not exist before the event"
                )
        known |= set(new)
    return problems
