"""What a check of a finished video says: of every edit, of every bystander, and of the video as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from physplan.verify.words import edit_in_words

Answer = Literal["holds", "doubtful", "fails"]
NOT_CHECKED: Literal["not checked"] = "not checked"
SCHEMA = "physplan.verdict/1"
_OPENINGS: dict[Answer, str] = {
    "holds": "The video shows what was planned.",
    "doubtful": "It is not certain that the video shows what was planned: look at it.",
    "fails": "The video does not show what was planned.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditFound:
    """One net edit: how far the video shows it (1: as planned, 0: not), and the frame that shows it best."""

    edit: str
    objects: tuple[str, ...]
    value: float | None  # None: an object that it needs was not found
    frame: int
    verdict: Answer

    def to_json(self) -> dict[str, Any]:
        return {
            "edit": self.edit,
            "objects": list(self.objects),
            "verdict": self.verdict,
            "value": None if self.value is None else round(self.value, 4),
            "frame": self.frame,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFound:
    event: int  # from 1
    anchor: int
    verdict: Answer
    value: float
    stray: float  # what changed beside what should, over what should
    edits: tuple[EditFound, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "event": self.event,
            "anchor": self.anchor,
            "verdict": self.verdict,
            "value": round(self.value, 4),
            "stray": round(self.stray, 4),
            "edits": [edit.to_json() for edit in self.edits],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BystanderFound:
    """An object that no edit names: how much its pixels changed since the first frame, at worst, and when."""

    object: str
    change: float
    frame: int
    kept: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "object": self.object,
            "kept": self.kept,
            "change": round(self.change, 4),
            "frame": self.frame,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    verdict: Answer
    score: float
    compared_with: Literal["keyframes", "plan"]  # how edits were looked for
    events: tuple[EventFound, ...]
    bystanders: tuple[BystanderFound, ...]
    motion: dict[str, float]  # smoothness and other back ends: shown, not part of the verdict
    repainted: bool = False  # most of what no edit touches has changed: another scene
    smeared: bool = False  # what changed, or the ground it left, has lost its edges

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "score": round(self.score, 4),
            "compared_with": self.compared_with,
            "events": [event.to_json() for event in self.events],
            "bystanders": [bystander.to_json() for bystander in self.bystanders],
            "motion": self.motion,
            **({"repainted": True} if self.repainted else {}),
            **({"smeared": True} if self.smeared else {}),
        }

    def sentence(self) -> str:
        """The verdict for people, without the words of the plan's file."""
        if self.repainted:
            return f"{_OPENINGS['fails']} Most of what no edit touches has changed: it became another scene."
        told = "; ".join(
            f"{what}: {', '.join(which)}"
            for what, which in (
                ("not seen", self._edits("fails")),
                ("not clearly seen", self._edits("doubtful")),
                ("smeared", ["what changed, or what it left, has lost its edges"] if self.smeared else []),
                ("changed though it should not", [b.object for b in self.bystanders if not b.kept]),
            )
            if which
        )
        if self.verdict == "holds" and not told:
            return "The video shows what was planned, and the rest stays as it was."
        if self.verdict == "holds" and self._edits("doubtful"):
            return f"The video shows what was planned, as far as can be seen. {told[0].upper()}{told[1:]}."
        reason = told or "too little of it is seen, or too much else has changed"
        return f"{_OPENINGS[self.verdict]} {reason[0].upper()}{reason[1:]}."

    def _edits(self, verdict: Answer) -> list[str]:
        """One statement per edit: net edits come again in every later event."""
        found: dict[str, list[int]] = {}
        for event in self.events:
            for edit in event.edits:
                if edit.verdict == verdict:
                    found.setdefault(edit_in_words(edit.edit), []).append(event.event)
        return [f"{words} (event{'s' * (len(at) > 1)} {_listed(at)})" for words, at in found.items()]


def _listed(numbers: list[int]) -> str:
    """Numbers in words: "1", "1 and 3", "1 to 3"."""
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return " and ".join(map(str, numbers))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """The result in place of a verdict where no check could run."""

    reason: str

    @property
    def verdict(self) -> Literal["not checked"]:
        return NOT_CHECKED

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "verdict": NOT_CHECKED, "reason": self.reason}

    def sentence(self) -> str:
        return f"The video was not checked: {self.reason}."


Checked = Verdict | NotChecked
