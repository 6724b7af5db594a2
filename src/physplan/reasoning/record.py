"""What happens on the way to a plan: every attempt at an edit set, and how far planning came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from physplan.graph import GraphEdit, Motion, PhysicalDelta, StateGraph, Violation, edits_to_json
from physplan.graph.motion import motions_to_json

Stage = Literal["parse", "decompose", "translate", "instruct", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One edit set that was proposed for an event; accepted when it has no violations.

    `generation` counts the deltas that were tried for the event; `malformed` says that the answer could not
    be read as edits, so that no check applies.
    """

    event: int
    generation: int
    attempt: int
    violations: tuple[Violation, ...] = ()
    malformed: str | None = None

    @property
    def accepted(self) -> bool:
        return not self.violations and self.malformed is None

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "event": self.event,
            "generation": self.generation,
            "attempt": self.attempt,
            "violations": [{"check": v.check, "message": v.message} for v in self.violations],
        }
        return value if self.malformed is None else {**value, "malformed": self.malformed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Progress: the act, its event (0: the whole scene), the attempt, a sentence."""

    stage: Stage
    message: str
    event: int = 0
    attempt: int = 1


@dataclass(kw_only=True)
class PlanRecord:
    """A plan under way. It is what is left, and saved, when planning fails."""

    prompt: str = ""
    num_frames: int = 0
    graph: StateGraph | None = None
    deltas: list[PhysicalDelta] = field(default_factory=list)
    edits: list[tuple[GraphEdit, ...]] = field(default_factory=list)
    motions: list[tuple[Motion, ...]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    reasoner: str = ""

    def to_json(self, error: str | None = None) -> dict[str, Any]:
        return {
            "unfinished": error,
            "prompt": self.prompt,
            "num_frames": self.num_frames,
            "graph": self.graph.to_json() if self.graph else None,
            "events": [
                {
                    "delta": delta.to_json(),
                    "edits": edits_to_json(edits),
                    **({"motion": motions_to_json(motion)} if motion else {}),
                }
                for delta, edits, motion in zip(self.deltas, self.edits, self.motions, strict=True)
            ],
            "provenance": {"reasoner": self.reasoner, "checks": self.checks()},
        }

    def checks(self) -> list[dict[str, Any]]:
        return [attempt.to_json() for attempt in self.attempts]
