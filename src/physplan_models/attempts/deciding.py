"""From a verdict to the change that the next attempt makes. Pure; `changing` makes it.

In this order, each once: keyframes that do not show their states are redrawn; the guidance gets more repeats,
the sketch a later clock, the video model words for what was missed; the plan is shown to the reasoner; last
comes another seed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from physplan.verify.verdict import EventFound, Verdict
from physplan.verify.words import edit_in_words

Kind = Literal["keyframes", "repeats", "clock", "words", "plan", "seed"]
NUMBERED = re.compile(r"\b([\w-]+)#\d+")


@dataclass(frozen=True, kw_only=True)
class Change:
    """`what` and `why` are for people, `words` for the video model or the reasoner."""

    kind: Kind
    what: str
    why: str
    event: int = 0  # from 1, of a keyframe
    words: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind} {self.event}" if self.event else self.kind


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of the best attempt so far, and of what was tried."""

    verdict: Verdict
    able: Collection[Kind]  # what this run can change
    tried: Collection[str] = ()  # names of changes
    off: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # what is off with an event's keyframe


def next_changes(facts: Facts) -> tuple[Change, ...]:
    """What the next attempt changes at once."""
    weak = [event for event in facts.verdict.events if event.verdict != "holds" or _missed(event)]
    return (
        _keyframes(facts, weak)
        or (*_pull(facts), *_words(facts, weak))
        or _plan(facts, weak)
        or (Change(kind="seed", what="another seed", why="what the verdict asks for was tried"),)
    )


def _keyframes(facts: Facts, weak: list[EventFound]) -> tuple[Change, ...]:
    """Redraw what does not show its state: an edit without a value is one that its keyframe does not show."""
    if "keyframes" not in facts.able:
        return ()
    found = []
    for event in weak:
        unseen = [edit_in_words(edit.edit) for edit in event.edits if edit.value is None]
        off = [*facts.off.get(event.event, ()), *(f"it does not show that {words}" for words in unseen)]
        if off:
            what = f"keyframe {event.event} redrawn"
            found.append(Change(kind="keyframes", what=what, why=off[0], event=event.event))
    return tuple(change for change in found if change.name not in facts.tried)


def _pull(facts: Facts) -> tuple[Change, ...]:
    """Hold the video nearer to the plan: more repeats of the terms, a later clock of the sketch."""
    says = {"repeats": "more repeats of the terms", "clock": "the sketch held longer"}
    found: list[Change] = []
    for kind, what in says.items():
        if kind in facts.able and kind not in facts.tried:
            found.append(Change(kind=kind, what=what, why=_reason(facts.verdict)))  # type: ignore[arg-type]
    return tuple(found)


def _words(facts: Facts, weak: list[EventFound]) -> tuple[Change, ...]:
    missed = list(dict.fromkeys(words for event in weak for words in _missed(event)))
    if "words" not in facts.able or "words" in facts.tried or not missed:
        return ()
    said = "It is clearly seen that " + ", and that ".join(
        NUMBERED.sub(lambda found: f"the {found[1]}".replace("_", " "), words) for words in missed
    )
    return (
        Change(kind="words", what="words for what was missed", why=_reason(facts.verdict), words=f"{said}."),
    )


def _plan(facts: Facts, weak: list[EventFound]) -> tuple[Change, ...]:
    """An event of which no edit was seen, in spite of all that was tried."""
    unseen = [event for event in weak if event.edits and all(edit.verdict != "holds" for edit in event.edits)]
    if "plan" not in facts.able or "plan" in facts.tried or not unseen:
        return ()
    numbers = " and ".join(str(event.event) for event in unseen)
    why = f"event {numbers} cannot be seen"
    told = "; ".join(f"event {event.event}: {', '.join(_missed(event))}" for event in unseen)
    words = (
        f"a video was made from this plan, and {why} in it (not seen: {told}): plan what happens so that"
        " every event changes what can be seen"
    )
    return (Change(kind="plan", what="the plan made anew", why=why, words=words),)


def _missed(event: EventFound) -> list[str]:
    return [edit_in_words(edit.edit) for edit in event.edits if edit.verdict != "holds"]


def _reason(verdict: Verdict) -> str:
    """The verdict's own sentence, without its opening."""
    told = verdict.sentence()
    return told.partition(". ")[2].rstrip(".") or told.rstrip(".")
