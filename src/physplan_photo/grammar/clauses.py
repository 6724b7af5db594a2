"""A sentence as clauses: who does what, whereto, in which order."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from physplan.errors import PhysPlanError
from physplan_photo.grammar.verbs import PHRASES, VERBS, Verb
from physplan_photo.grammar.words import (
    ARTICLES,
    COLOURS,
    DIRECTIONS,
    FILLERS,
    FRAME,
    GROUNDS,
    LIQUIDS,
    NEGATIONS,
    PICKS,
    PREPOSITIONS,
    SIDES,
    forms,
    tokens,
)

ONTO = ("onto", "on", "upon", "into", "in", "inside", "against", "to", "toward", "towards", "at", "over")
NO_TARGETS = ("two", "half", "pieces", "parts", "halves", "place", "itself")
PRONOUNS = frozenset({"it", "they", "he", "she", "this", "that"})
SEQUENCE = re.compile(r"\s*(?:;|\.(?:\s|$)|,?\s*\b(?:and\s+)?(?:then|afterwards|after that)\b,?)\s*")
TOGETHER = re.compile(r"\s*(?:,|\b(?:and|while|as|meanwhile)\b)\s*")


class NotAVerb(PhysPlanError):
    """A sentence that the grammar cannot read; it says which verbs it knows."""


@dataclass(frozen=True, slots=True)
class Noun:
    """A name, and which one of several is meant."""

    name: str
    pick: str = ""  # left, right, largest, smallest, top, bottom, middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    verb: Verb
    said: str  # the verb as it was written
    subjects: tuple[Noun, ...]
    target: Noun | None = None  # onto, into, against, or the verb's object
    source: Noun | None = None  # off, from
    relation: str = ""  # the preposition before the target
    direction: str = ""
    leaves: bool = False
    value: str = ""  # a colour, a liquid


def read_prompt(prompt: str) -> tuple[tuple[Clause, ...], ...]:
    """Steps in order, each of one or more clauses that happen together."""
    words = tokens(prompt)
    if denied := next((word for word in words if word in NEGATIONS), None):
        raise NotAVerb(f"The grammar cannot plan what does {denied!r} happen: say what happens.")
    steps: list[tuple[Clause, ...]] = []
    last: tuple[Noun, ...] = ()
    for part in filter(None, (piece.strip() for piece in SEQUENCE.split(prompt))):
        for step in _steps(part, last):
            steps.append(step)
            last = step[-1].subjects
    if not steps:
        raise NotAVerb(f"The prompt names nothing that happens. {known_verbs()}")
    return _merged(steps)


def check_prompt(prompt: str) -> None:
    """Refuse a sentence that cannot be read, before any network runs."""
    read_prompt(prompt)


def nouns(prompt: str) -> tuple[str, ...]:
    """The names that the sentence uses, each once: what must be found in the picture."""
    found: dict[str, None] = {}
    for clause in (clause for step in read_prompt(prompt) for clause in step):
        for noun in (*clause.subjects, clause.target, clause.source):
            if noun is not None:
                found[noun.name] = None
    return tuple(found)


def known_verbs() -> str:
    return "It knows these verbs: " + ", ".join(VERBS) + "."


def _steps(part: str, last: tuple[Noun, ...]) -> list[tuple[Clause, ...]]:
    """Between `then`s, `and` joins subjects, verbs of one subject (in order) or clauses (at once)."""
    waiting: list[Noun] = []
    steps: list[tuple[Clause, ...]] = []
    for piece in filter(None, TOGETHER.split(part)):
        words = tokens(piece)
        if not words:
            continue
        found = _verb_at(words)
        if found is None:
            noun = _noun(words)
            if noun is None or steps:
                raise _unknown(words, piece)
            waiting.append(noun)
            continue
        clause = _clause(words, *found)
        own = bool(clause.subjects)
        subjects = (*waiting, *clause.subjects) if own or waiting else last
        waiting = []
        if not subjects:
            raise NotAVerb(f"It is not said what {clause.said!r}: write it as 'the cup {clause.said}'.")
        clause, last = replace(clause, subjects=subjects), subjects
        if own and steps and steps[-1][0].verb.name not in ("knock", "land"):
            steps[-1] = (*steps[-1], clause)
        else:
            steps.append((clause,))
    if waiting:
        raise _unknown(tokens(part), part)
    return steps


def _unknown(words: Sequence[str], text: str) -> NotAVerb:
    heads = {form: verb.name for phrase, verb in PHRASES for form in forms(phrase[0])}
    told = [word for word in words if word not in ARTICLES | FILLERS | PREPOSITIONS]
    close = [(word, difflib.get_close_matches(word, heads, n=1, cutoff=0.75)) for word in told[1:] or told]
    meant = next((f"Did you mean {m[0]!r} for {w!r}? " for w, m in close if m and m != [w]), "")
    return NotAVerb(f"The grammar knows no verb in {text.strip()!r}. {meant}{known_verbs()}")


def _verb_at(words: Sequence[str]) -> tuple[int, tuple[str, ...], Verb] | None:
    """The earliest verb by its longest phrase: place, phrase, entry. A word after an article is a noun."""
    for i, word in enumerate(words):
        placed = i > 2 and words[i - 1] in PICKS and words[i - 3] in PREPOSITIONS  # "the lamp on the right"
        if i and not placed and words[i - 1] in (ARTICLES | set(PICKS)) - {"one", "this", "that"}:
            continue
        for phrase, verb in PHRASES:
            if word not in forms(phrase[0]) or not _followed(words[i + 1 :], phrase[1:]):
                continue
            if verb.name == "colour" and not COLOURS & set(words[i + 1 :]):
                continue
            return i, phrase, verb
    return None


def _followed(rest: Sequence[str], particles: Sequence[str]) -> bool:
    """Directly, or after the verb's object: "knocks the bottle over"."""
    if not particles or list(rest[: len(particles)]) == list(particles):
        return True
    apart = len(particles) == 1 and particles[0] in rest and particles[0] in ("over", "down", "off", "on")
    before = rest[: rest.index(particles[0])] if apart else ()
    return bool(before) and not PREPOSITIONS & set(before)


def _clause(words: Sequence[str], at: int, phrase: tuple[str, ...], verb: Verb) -> Clause:
    rest = list(words[at + 1 :])
    for particle in phrase[1:]:
        rest.remove(particle)
    subject = _noun(words[:at])
    if phrase[-1] in ("on", "into") and verb.name in ("land", "knock", "tip"):
        rest = ["on", *rest]
    said = " ".join([words[at], *phrase[1:]])
    clause = Clause(verb=verb, said=said, subjects=(subject,) if subject else ())
    if said.split()[-1] in ("off", "away") or words[at] in forms("leave"):
        clause = replace(clause, leaves=verb.name in ("move", "rise"))
    if phrase[-1] in ("up", "down") and verb.name in ("rise", "fall", "jump"):
        clause = replace(clause, direction=phrase[-1])
    return _with_rest(clause, rest)


def _with_rest(clause: Clause, rest: Sequence[str]) -> Clause:
    """What stands after the verb: prepositions with their nouns, directions, colours."""
    for preposition, group in _groups(rest):
        value = next((word for word in group if word in COLOURS), "")
        if clause.verb.name == "colour" and value:
            clause = replace(clause, value=value)
            continue
        bare = [word for word in group if word not in ARTICLES | FILLERS | SIDES]
        towards = next((DIRECTIONS[word] for word in (*bare, preposition) if word in DIRECTIONS), "")
        noun = _noun(group)
        if preposition in ("away", "out") or (preposition == "off" and not bare):
            clause = replace(clause, leaves=True)
        if set(bare) & FRAME:
            clause = replace(clause, leaves=clause.leaves or preposition in ("of", "off", "from"))
        elif not [word for word in bare if word not in DIRECTIONS] and towards:
            clause = replace(clause, direction=towards)
        elif clause.verb.name == "spill" and set(bare) & LIQUIDS and not preposition:
            clause = replace(clause, value=next(word for word in bare if word in LIQUIDS))
        elif noun is not None and preposition in ("off", "from"):
            clause = replace(clause, source=noun)
        elif (
            noun is not None
            and (preposition in ONTO or not preposition)
            and clause.target is None
            and noun.name not in NO_TARGETS
        ):
            clause = replace(clause, target=noun, relation=preposition)
    return clause


def _groups(rest: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Each preposition with the words after it; the words before the first stand under ""."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for word in rest:
        if word in PREPOSITIONS:
            found.append((word, []))
        else:
            found[-1][1].append(word)
    return [entry for entry in found if entry[0] or entry[1]]


def _noun(words: Sequence[str]) -> Noun | None:
    """The name without articles, auxiliaries and the word that picks one of several."""
    pick = next((PICKS[word] for word in words if word in PICKS), "")
    cut = next((i for i, word in enumerate(words) if word in PREPOSITIONS and i), len(words))
    marked = words[cut:]
    pick = pick or next((PICKS[word] for word in marked if word in PICKS), "")
    told = [w for w in words[:cut] if w not in ARTICLES | FILLERS | PREPOSITIONS and w not in PICKS]
    told = [w for w in told if w not in PRONOUNS and w != "other"]
    return Noun(" ".join(told), pick) if told else None


def _merged(steps: Sequence[tuple[Clause, ...]]) -> tuple[tuple[Clause, ...], ...]:
    """A fall and the bounce after it are one event; so are tipping over and spilling what was in it."""
    found: list[tuple[Clause, ...]] = []
    for step in steps:
        before = found[-1][0] if found and len(found[-1]) == 1 else None
        alone = step[0] if len(step) == 1 else None
        if before and alone and before.verb.name == "fall" and alone.verb.name == "bounce":
            found[-1] = (replace(before, value="bounce"),)
        else:
            found.append(step)
    return tuple(found)


def is_ground(noun: Noun) -> bool:
    return noun.name.split()[-1] in GROUNDS
