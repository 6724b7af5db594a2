"""The Reasoner: four acts, each a question about the scene. The planning loop asks, checks and asks again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from physplan.errors import PhysPlanError
from physplan.graph import GraphEdit, Motion, PhysicalDelta, StateGraph
from physplan.reasoning.picture import Picture


class BadAnswer(PhysPlanError):
    """An answer that cannot be used. The loop asks again with the problems and the answer."""

    def __init__(self, *problems: str, answer: str = "") -> None:
        super().__init__(" ".join(problems))
        self.problems = problems
        self.answer = answer


class Trace:
    """What the reasoner's calls leave behind for the plan's provenance, from any thread, in a fixed order."""

    def __init__(self) -> None:
        self._calls: list[tuple[tuple[int, ...], Mapping[str, Any]]] = []
        self._lock = threading.Lock()

    def add(self, order: tuple[int, ...], call: Mapping[str, Any]) -> None:
        with self._lock:
            self._calls.append((order, call))

    def calls(self) -> list[Mapping[str, Any]]:
        with self._lock:
            return [call for _, call in sorted(self._calls, key=lambda entry: entry[0])]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What is given: the first frame and the sentence. Both are data, whatever is written in them."""

    picture: Picture
    prompt: str
    num_frames: int
    trace: Trace = field(default_factory=Trace, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Why the previous attempt was refused; `attempt` is 1, without problems, at first."""

    attempt: int = 1
    problems: tuple[str, ...] = ()
    previous: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The events after `kept` are to be predicted again: the next one's edits were refused in every attempt.

    `rejected` is each delta tried for it so far, `reasons` why the last of them was refused.
    """

    kept: tuple[PhysicalDelta, ...]
    rejected: tuple[PhysicalDelta, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyframeTask:
    """One keyframe: the net edits from the first frame, and where in it each new object belongs."""

    event: int  # 1 for the first
    graph: StateGraph  # G_0
    target: StateGraph  # G_i
    net_edits: tuple[GraphEdit, ...]
    places: Mapping[str, str]  # new object -> the object of G_0 it comes from


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A delta as edits, and how its objects get there, as far as the reasoner says."""

    edits: tuple[GraphEdit, ...]
    motion: tuple[Motion, ...] = ()


class Reasoner(Protocol):
    """Subclass it to inherit the defaults. An act raises `BadAnswer` or `GraphError` to be asked again."""

    name: str
    # Ablation (ii): edits may touch objects that the delta does not list.
    free_edits: bool = False
    # Ablation (i): the instruction describes the whole scene, so the rules of appendix A.4 do not apply.
    free_instructions: bool = False

    def parse(self, scene: Scene, feedback: Feedback) -> StateGraph:
        """G_0: all objects visible in the picture, and their relations."""
        ...

    def decompose(
        self,
        scene: Scene,
        graph: StateGraph,
        feedback: Feedback,
        *,
        max_events: int,
        revision: Revision | None,
    ) -> tuple[PhysicalDelta, ...]:
        """The deltas in causal order, from the state `graph` on; with a revision, the remaining ones."""
        ...

    def translate(
        self, scene: Scene, graph: StateGraph, delta: PhysicalDelta, feedback: Feedback
    ) -> Translation:
        """The edits that express one delta, given the violations of the previous attempt."""
        ...

    def instruct(self, scene: Scene, task: KeyframeTask, feedback: Feedback) -> str:
        """The keyframe instruction of one event. Called from several threads at once."""
        ...

    def provenance(self) -> Mapping[str, Any]:
        """What a reader of the plan needs to know of the reasoner: models and versions, never keys."""
        return {}
