"""The limits of a verdict, which frames are looked at, and how numbers become answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from physplan.graph import EventChain
from physplan.verify.verdict import Answer, EditFound, EventFound

MAX_AREA = 0.3  # of the picture: what is larger is no bystander but the ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Chosen on the sandbox's validation scenes 200 to 224 against the simulator's judge (docs/verify.md)."""

    holds: float = 0.45  # of the score
    fails: float = 0.25
    edit_holds: float = 0.6  # of one edit's value
    edit_fails: float = 0.4
    kept: float = 0.06  # of brightness, mean over an object
    whole: float = 0.5  # weights: the last event as a whole, its worst object, what strayed, what changed
    worst: float = 0.5
    stray: float = 0.5
    bystanders: float = 0.2
    late: int = 6  # frames at the end in which the last state is looked for
    around: int = 2  # frames before and after an earlier anchor
    margin: float = 0.02  # around masks, of the height
    smeared: float = 0.5  # of the edges of what changed, beside those of the rest: less is a smear
    repainted: float = 0.5  # of the picture outside what acts, changed to the end: another scene


def answer(value: float | None, holds: float, fails: float) -> Answer:
    if value is None:
        return "doubtful"
    return "holds" if value >= holds else "fails" if value < fails else "doubtful"


def looked_at(chain: EventChain, event: int, limits: Limits) -> range:
    """Frames in which the state after an event is looked for; the last state stays to the end."""
    if event + 1 == len(chain.events):
        return range(max(chain.anchors[event], chain.num_frames - limits.late), chain.num_frames)
    anchor = chain.anchors[event]
    return range(max(1, anchor - limits.around), min(anchor + limits.around + 1, chain.num_frames))


def event_found(
    index: int, anchor: int, value: float, stray: float, edits: Sequence[EditFound], limits: Limits
) -> EventFound:
    worst = min((edit.value for edit in edits if edit.value is not None), default=value)
    found = answer((value + worst) / 2 - limits.stray * min(stray, 1.0), limits.holds, limits.fails)
    return EventFound(
        event=index + 1,
        anchor=anchor,
        verdict="doubtful" if found == "holds" and any(edit.verdict == "fails" for edit in edits) else found,
        value=value,
        stray=stray,
        edits=tuple(edits),
    )
