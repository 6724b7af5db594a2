"""The planning loop (section 3.1): asks a reasoner, checks every answer, and owns what no model may decide.

Edits are checked and violations sent back, a delta whose edits stay wrong is predicted anew, graphs change
only by verified edits, and anchors follow from the fractions (eq. 2).
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from physplan import __version__
from physplan.calls.parallel import side_by_side
from physplan.errors import PhysPlanError
from physplan.graph import (
    Consume,
    EventChain,
    GraphEdit,
    GraphError,
    Limits,
    PhysicalDelta,
    StateChange,
    StateGraph,
    anchors,
    apply,
    check,
    check_motion,
    edits_to_json,
)
from physplan.graph.instructions import RULES
from physplan.graph.motion import motions_to_json
from physplan.reasoning.instructing import Instructor, keyframe_tasks, problems_of
from physplan.reasoning.picture import Picture
from physplan.reasoning.protocol import BadAnswer, Feedback, Reasoner, Revision, Scene, Translation
from physplan.reasoning.record import Attempt, PlanRecord, Stage, Step
from physplan.reasoning.rules import delta_problems

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")
Progress = Callable[[Step], None]
MAX_PROMPT = 2000
MAX_FRAMES = 100_000
UNLISTED_STATE = "changed by the regenerated graph"
UNLISTED_RULE = "no rule was given: the regenerated graph changes it"


class PlanningFailed(PhysPlanError):
    """No plan: the reasoner's answers were refused in every attempt."""

    exit_code = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """How often an answer is sent back, a delta regenerated, and how many calls run side by side."""

    retries: int = 3
    regenerations: int = 2
    instruction_retries: int = 1
    max_events: int = Limits().max_events
    instructions: bool = True
    at_once: int = 4


def plan(
    reasoner: Reasoner,
    image: Picture | Image | str | os.PathLike[str],
    prompt: str,
    num_frames: int = 49,
    *,
    settings: PlanSettings | None = None,
    progress: Progress | None = None,
    record: PlanRecord | None = None,
) -> EventChain:
    """A verified event chain from a picture and a sentence. `record` is filled on the way."""
    scene = Scene(picture=Picture.of(image), prompt=check_prompt(prompt), num_frames=check_frames(num_frames))
    record = record if record is not None else PlanRecord()
    record.prompt, record.num_frames, record.reasoner = scene.prompt, scene.num_frames, reasoner.name
    return _Planner(
        reasoner, scene, settings or PlanSettings(), progress or (lambda step: None), record
    ).run()


def check_prompt(prompt: str) -> str:
    prompt = unicodedata.normalize("NFC", prompt.strip())
    if not prompt:
        raise PhysPlanError("The prompt is empty: say in a sentence what happens.")
    if len(prompt) > MAX_PROMPT:
        raise PhysPlanError(
            f"The prompt has {len(prompt)} characters, the limit is {MAX_PROMPT}: shorten it."
        )
    if any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t" for c in prompt):
        raise PhysPlanError("The prompt contains control characters or invalid text: use plain text.")
    return prompt


def check_frames(num_frames: int) -> int:
    if not 2 <= num_frames <= MAX_FRAMES:
        raise PhysPlanError(
            f"{num_frames} frames cannot hold a plan: use at least 2, one before and one after the change "
            f"(and at most {MAX_FRAMES})."
        )
    return num_frames


@dataclass
class _Planner:
    reasoner: Reasoner
    scene: Scene
    settings: PlanSettings
    progress: Progress
    record: PlanRecord

    def run(self) -> EventChain:
        graph = self.parse()
        self.evolve(graph)
        deltas, edits = self.record.deltas, self.record.edits
        chain = EventChain.build(
            prompt=self.scene.prompt,
            num_frames=self.scene.num_frames,
            graph=graph,
            deltas=deltas,
            edits=edits,
            motions=self.record.motions,
        )
        written = self.instruct(chain) if self.settings.instructions else []
        if written:
            events = zip(chain.events, written, strict=True)
            chain = replace(chain, events=tuple(event.instructed(text, by) for event, (text, by) in events))
        chain = replace(chain, provenance=self.provenance([by for _, by in written]))
        self.progress(Step(stage="done", message=f"{len(deltas)} events at frames {list(chain.anchors)}"))
        return chain

    def parse(self) -> StateGraph:
        def ask(feedback: Feedback) -> StateGraph:
            graph = self.reasoner.parse(self.scene, feedback)
            if not len(graph):
                raise BadAnswer("the graph has no objects: list every object visible in the image")
            return graph

        self.progress(Step(stage="parse", message="reading the scene"))
        graph = self.record.graph = self.until_valid("parse", ask)
        self.progress(Step(stage="parse", message=f"{len(graph)} objects, {len(graph.edges)} relations"))
        return graph

    def evolve(self, graph: StateGraph) -> None:
        """Delta-driven graph evolution: translate, check, apply; what stays rejected is predicted again."""
        consumed: set[str] = set()
        ahead = list(self.decompose(graph, consumed))
        rejected: list[PhysicalDelta] = []  # for the event at hand
        while ahead:
            event = len(self.record.deltas) + 1
            generation = len(rejected)
            accepted = self.translate(graph, ahead[0], consumed, event, generation)
            if not isinstance(accepted, _Rejected):
                delta, edits = accepted[0], accepted[1].edits
                self.record.deltas.append(delta)
                self.record.edits.append(edits)
                self.record.motions.append(accepted[1].motion)
                consumed |= {edit.o for edit in edits if isinstance(edit, Consume)}
                graph = apply(graph, edits)
                ahead.pop(0)
                rejected = []
                continue
            if generation == self.settings.regenerations:
                raise PlanningFailed(
                    f"Event {event} was rejected in every attempt, and after {generation} regenerations of "
                    f"its delta; the last violations: {' '.join(accepted.reasons)} Try another wording of "
                    "the prompt, or another model."
                )
            rejected.append(ahead[0])
            kept = tuple(self.record.deltas)
            revision = Revision(kept=kept, rejected=tuple(rejected), reasons=accepted.reasons)
            ahead = list(self.decompose(graph, consumed, revision))

    def decompose(
        self, graph: StateGraph, consumed: set[str], revision: Revision | None = None
    ) -> tuple[PhysicalDelta, ...]:
        kept = tuple(self.record.deltas)
        room = min(self.settings.max_events, self.scene.num_frames - 1) - len(kept)

        def ask(feedback: Feedback) -> tuple[PhysicalDelta, ...]:
            deltas = self.reasoner.decompose(self.scene, graph, feedback, max_events=room, revision=revision)
            problems = delta_problems(graph, deltas, consumed)
            if not 1 <= len(deltas) <= room:
                problems.append(f"there are {len(deltas)} events: give at least 1 and at most {room}")
            elif revision and deltas[0].states in [delta.states for delta in revision.rejected]:
                problems.append("the first event was rejected before: describe it in another way")
            if problems:
                answer = json.dumps({"deltas": [delta.to_json() for delta in deltas]}, ensure_ascii=False)
                raise BadAnswer(*problems, answer=answer)
            anchors([delta.fraction for delta in (*kept, *deltas)], self.scene.num_frames)
            return deltas

        event = len(kept) + 1
        words = (
            "splitting the phenomenon into events" if revision is None else f"predicting event {event} anew"
        )
        self.progress(Step(stage="decompose", event=event if revision else 0, message=words))
        deltas = self.until_valid("decompose", ask)
        self.progress(Step(stage="decompose", message=f"{len(kept) + len(deltas)} events"))
        return deltas

    def translate(
        self, graph: StateGraph, delta: PhysicalDelta, consumed: set[str], event: int, generation: int
    ) -> tuple[PhysicalDelta, Translation] | _Rejected:
        feedback = Feedback()
        for attempt in range(1, self.settings.retries + 2):
            malformed: str | None = None
            try:
                given = self.reasoner.translate(self.scene, graph, delta, feedback)
                edits = given.edits
                stated = widen(delta, edits) if self.reasoner.free_edits else delta
                violations = check(graph, stated, edits, consumed)
                # Motion is compared with the edits, so it is looked at once they are right.
                violations = violations or check_motion(graph, stated, edits, given.motion)
                reasons = tuple(f"({violation.check}) {violation.message}" for violation in violations)
                answer = json.dumps(_answer(given), ensure_ascii=False)
            except (BadAnswer, GraphError) as error:
                violations = ()
                reasons, answer = problems_of(error)
                malformed = " ".join(reasons)
            self.record.attempts.append(
                Attempt(
                    event=event,
                    generation=generation,
                    attempt=attempt,
                    violations=violations,
                    malformed=malformed,
                )
            )
            words = "accepted" if not reasons else "sent back: " + " ".join(reasons)
            self.progress(Step(stage="translate", event=event, attempt=attempt, message=words))
            if not reasons:
                return stated, given
            feedback = Feedback(attempt=attempt + 1, problems=reasons, previous=answer)
        return _Rejected(reasons)

    def instruct(self, chain: EventChain) -> list[tuple[str, str]]:
        """The instructions of all events, side by side, each with who wrote it."""
        ask = Instructor(
            reasoner=self.reasoner,
            scene=self.scene,
            retries=self.settings.instruction_retries,
            progress=self.progress,
        )
        return side_by_side(ask, keyframe_tasks(chain), at_once=self.settings.at_once)

    def until_valid(self, stage: Stage, ask: Callable[[Feedback], T]) -> T:
        """The first answer that is valid; the problems of the one before go with every further attempt."""
        feedback = Feedback()
        for attempt in range(1, self.settings.retries + 2):
            try:
                return ask(feedback)
            except (BadAnswer, GraphError) as error:
                problems, answer = problems_of(error)
                feedback = Feedback(attempt=attempt + 1, problems=problems, previous=answer)
                words = "sent back: " + " ".join(problems)
                self.progress(Step(stage=stage, attempt=attempt, message=words))
        raise PlanningFailed(
            f"The {stage} step gave no usable answer in {self.settings.retries + 1} attempts; the last "
            f"problems: {' '.join(feedback.problems)} Try another model, or another wording of the prompt."
        )

    def provenance(self, writers: list[str]) -> Mapping[str, Any]:
        """All that names the origin of a plan and nothing that differs between a run and its replay."""
        picture = self.scene.picture
        return {
            "reasoner": self.reasoner.name,
            **self.reasoner.provenance(),
            "physplan": __version__,
            "image": {"sha256": picture.sha256, "size": [picture.image.width, picture.image.height]},
            "calls": self.scene.trace.calls(),
            "checks": self.record.checks(),
            "instructions": ["written from the net edits" if by == RULES else by for by in writers],
        }


@dataclass(frozen=True, slots=True)
class _Rejected:
    reasons: tuple[str, ...]


def _answer(given: Translation) -> dict[str, Any]:
    edits = {"edits": edits_to_json(given.edits)}
    return {**edits, "motion": motions_to_json(given.motion)} if given.motion else edits


def widen(delta: PhysicalDelta, edits: tuple[GraphEdit, ...]) -> PhysicalDelta:
    """The delta as the edits have it (ablation ii): an entry for each object they change, and no other."""
    touched = dict.fromkeys(target for edit in edits for target in edit.targets())
    kept = tuple(
        replace(change, new_object=new if (new := change.new_object) and new.id in touched else None)
        for change in delta.states
        if change.object in touched
    )
    listed = {change.object for change in kept}
    added = tuple(StateChange(id, UNLISTED_STATE, UNLISTED_RULE) for id in touched if id not in listed)
    return replace(delta, states=kept + added) if kept + added else delta
