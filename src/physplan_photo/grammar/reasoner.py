"""The reasoner `verbs`: a sentence and the outlines of a photograph become deltas, edits and motion.

The planning loop checks its answers as it checks a VLM's. It calls no model but the segmenter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from physplan.calls.settings import CallSettings
from physplan.errors import PhysPlanError
from physplan.graph import PhysicalDelta, StateGraph
from physplan.graph.motion import motions_to_json
from physplan.graph.moving import HOLDING
from physplan.reasoning.protocol import BadAnswer, Feedback, KeyframeTask, Reasoner, Revision, Translation
from physplan.reasoning.protocol import Scene as Asked
from physplan.reasoning.writer import write_instruction
from physplan_photo.grammar.actions import act
from physplan_photo.grammar.clauses import Noun, is_ground, nouns, read_prompt
from physplan_photo.grammar.scene import Event, Scene
from physplan_photo.graph.layout import Mask
from physplan_photo.graph.relations import Seen, photo_graph
from physplan_photo.stands import dish_of

if TYPE_CHECKING:
    from physplan.perception import Segmenter

GRAMMAR_VERSION = 1
ACTING_SHARE = 0.9  # of the video: the rest shows how it ends

Planned = tuple[tuple[PhysicalDelta, ...], tuple[Translation, ...], Mapping[str, Any]]


class VerbsReasoner(Reasoner):
    """`load_segmenter` gives the run's segmenter when it is first needed."""

    name = "verbs"
    calls_out = None

    def __init__(
        self, settings: CallSettings | None = None, *, load_segmenter: Callable[[], Segmenter] | None = None
    ) -> None:
        self._load_segmenter = load_segmenter
        self._masks: dict[str, dict[str, Mask]] = {}  # by the picture's checksum
        self._planned: dict[PhysicalDelta, Translation] = {}
        self._told: Mapping[str, Any] = {}

    def parse(self, scene: Asked, feedback: Feedback) -> StateGraph:
        from physplan.pictures import to_tensor

        names = nouns(scene.prompt)
        if self._load_segmenter is None:
            raise PhysPlanError("The reasoner verbs needs a segmenter: choose one in perception.segmenter.")
        segmenter = self._load_segmenter()
        given = getattr(segmenter, "given", ())
        names = _called(names, given)
        names = (*names, *_others(given, names))
        found = segmenter.segment(to_tensor(scene.picture.image), names)
        seen = [Seen(one.category, np.asarray(one.mask.cpu().numpy(), dtype=bool)) for one in found]
        lacking = [name for name in names if name not in {one.name for one in seen}]
        grounds = [name for name in lacking if is_ground(Noun(name))]
        if lost := [name for name in lacking if name not in grounds]:
            raise PhysPlanError(
                f"The {lost[0]} of the sentence was not found in the picture: show it with "
                f'--object "{lost[0]}:left,top,right,bottom" or --object "{lost[0]}@x,y".'
            )
        graph, masks = photo_graph(seen, grounds)
        if dishes := [dish for name in pushed(scene.prompt, graph) if (dish := dish_of(name)) is not None]:
            below = segmenter.segment(to_tensor(scene.picture.image), [*names, *dishes])
            seen = [Seen(one.category, np.asarray(one.mask.cpu().numpy(), dtype=bool)) for one in below]
            graph, masks = photo_graph(seen, grounds)
        self._masks[scene.picture.sha256] = masks
        return graph

    def decompose(
        self,
        scene: Asked,
        graph: StateGraph,
        feedback: Feedback,
        *,
        max_events: int,
        revision: Revision | None,
    ) -> tuple[PhysicalDelta, ...]:
        if revision is not None or feedback.problems:
            reasons = " ".join(revision.reasons if revision else feedback.problems)
            raise PhysPlanError(f"The grammar has one plan for this sentence, and it was refused: {reasons}")
        masks = self._masks[scene.picture.sha256]
        width = scene.picture.image.width / scene.picture.image.height
        deltas, translations, self._told = plan_sentence(scene.prompt, graph, masks, width=width)
        if len(deltas) > max_events:
            raise PhysPlanError(
                f"The sentence has {len(deltas)} steps, a plan at most {max_events}: leave some out."
            )
        self._planned = dict(zip(deltas, translations, strict=True))
        return deltas

    def translate(
        self, scene: Asked, graph: StateGraph, delta: PhysicalDelta, feedback: Feedback
    ) -> Translation:
        if delta not in self._planned or feedback.problems:
            raise BadAnswer("the grammar translates only the deltas that it predicted, once")
        return self._planned[delta]

    def instruct(self, scene: Asked, task: KeyframeTask, feedback: Feedback) -> str:
        return write_instruction(task)

    def provenance(self) -> Mapping[str, Any]:
        return {"grammar": GRAMMAR_VERSION, **self._told}


def pushed(prompt: str, graph: StateGraph) -> list[str]:
    """Things that the sentence moves along their ground, and that nothing outlined holds."""
    held = {edge.b for edge in graph.edges if edge.r in HOLDING}
    nouns = [
        noun
        for step in read_prompt(prompt)
        for one in step
        if one.verb.name == "move"
        for noun in one.subjects
    ]
    wanted = {noun.name.casefold() for noun in nouns}
    return [
        node.category for node in graph.nodes if node.category.casefold() in wanted and node.id not in held
    ]


def _called(names: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """The user's own names of what the sentence says shorter: "left gear" and "right gear" for "gear"."""
    known = {name.casefold() for name in given}
    found: dict[str, None] = {}
    for name in names:
        longer = [one for one in given if one.casefold().split()[-1] == name.casefold().split()[-1]]
        found |= dict.fromkeys([name] if name.casefold() in known or not longer else longer)
    return tuple(found)


def _others(given: Sequence[str], names: Sequence[str]) -> list[str]:
    """Objects that the user outlined and the sentence does not name: a cup on the saucer that slides."""
    said = {name.casefold() for name in names} | {name.casefold().split()[-1] for name in names}
    return [name for name in given if name.casefold() not in said]


def plan_sentence(prompt: str, graph: StateGraph, masks: Mapping[str, Mask], *, width: float) -> Planned:
    """Deltas, their edits and motion, and for the plan's provenance: notes, and per event the motions that
    the simulation gives otherwise. `width` over the height."""
    scene = Scene(graph=graph, masks=masks, width=width)
    events: list[Event] = []
    for step in read_prompt(prompt):
        event = Event()
        for clause in step:
            act(scene, event, clause)
        scene.done(event)
        events.append(event)
    whole = sum(event.weight for event in events)
    deltas = tuple(
        PhysicalDelta(tuple(event.states.values()), round(ACTING_SHARE * event.weight / whole, 4))
        for event in events
    )
    translations = tuple(
        Translation(edits=tuple(event.edits), motion=tuple(event.motions.values())) for event in events
    )
    told: dict[str, Any] = {"notes": list(scene.notes)} if scene.notes else {}
    if any(event.simulated for event in events):
        told["simulated"] = [motions_to_json(list(event.simulated.values())) for event in events]
    return deltas, translations, told
