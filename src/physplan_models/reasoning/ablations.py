"""The two planning ablations of section 4.3, as reasoners of their own under the same loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from physplan.graph import (
    Consume,
    GraphEdit,
    Limits,
    Link,
    Node,
    PhysicalDelta,
    Spawn,
    StateChange,
    StateGraph,
    Unlink,
    Update,
    parse_graph,
)
from physplan.graph.json_values import read_list, read_number, read_object, read_text
from physplan.reasoning.protocol import BadAnswer, Feedback, KeyframeTask, Revision, Scene, Translation
from physplan_models.reasoning import schemas
from physplan_models.reasoning.vlm import VLMReasoner, revision_blocks

SCENE = "scene#1"
NO_RULE = "no rule: the scene is described from the prompt"


class PromptDerivedReasoner(VLMReasoner):
    """(i) No state graph: the model describes each state as a complete scene, which is the instruction too.

    The chain's only node is the scene as a whole; its configuration names the state.
    """

    name = "prompt-derived"
    free_instructions = True

    @staticmethod
    def usual_calls(events: int) -> int:
        """The scenes, all at once."""
        return 1

    def parse(self, scene: Scene, feedback: Feedback) -> StateGraph:
        return StateGraph([Node(SCENE, "scene", {"configuration": "as in the image"})])

    def decompose(
        self,
        scene: Scene,
        graph: StateGraph,
        feedback: Feedback,
        *,
        max_events: int,
        revision: Revision | None,
    ) -> tuple[PhysicalDelta, ...]:
        return self._ask(
            scene,
            "scenes",
            feedback,
            schema=schemas.SCENES,
            read=lambda answer: _scenes(answer, self.limits),
            images=(scene.picture.part,),
            blocks={"user_prompt": scene.prompt, **revision_blocks(revision)},
            values={"max_events": max_events},
        )

    def translate(
        self, scene: Scene, graph: StateGraph, delta: PhysicalDelta, feedback: Feedback
    ) -> Translation:
        return Translation(edits=(Update(SCENE, "configuration", delta.states[0].state),))

    def instruct(self, scene: Scene, task: KeyframeTask, feedback: Feedback) -> str:
        return task.target.node(SCENE).attributes["configuration"]


class FullGraphReasoner(VLMReasoner):
    """(ii) Full-graph regeneration: the model rewrites the whole graph; the edits are the differences."""

    name = "full-graph"
    free_edits = True

    def translate(
        self, scene: Scene, graph: StateGraph, delta: PhysicalDelta, feedback: Feedback
    ) -> Translation:
        after = self._ask(
            scene,
            "regenerate",
            feedback,
            schema=schemas.NEXT_GRAPH,
            read=lambda answer: parse_graph(schemas.graph_json(answer), self.limits),
            blocks={"graph": graph.to_json(), "delta": delta.to_json()},
        )
        edits = tuple(differences(graph, after))
        if not edits:
            raise BadAnswer("the graph is the same as before: write the state after the event")
        return Translation(edits=edits)


def differences(before: StateGraph, after: StateGraph) -> Iterator[GraphEdit]:
    """The edits that lead from one graph to another. A value that is no longer given counts as unchanged."""
    for node in after.nodes:
        if node.id not in before:
            yield Spawn(node.id, node.source, node.category, node.attributes)
        else:
            old = before.node(node.id).attributes
            for key, value in node.attributes.items():
                if old.get(key) != value:
                    yield Update(node.id, key, value)
    for node in before.nodes:
        if node.id not in after:
            yield Consume(node.id)
    for edge in after.edges:
        if edge not in before:
            yield Link(edge.a, edge.r, edge.b)
    for edge in before.edges:
        if edge not in after and edge.a in after and edge.b in after:
            yield Unlink(edge.a, edge.r, edge.b)


def _scenes(answer: Any, limits: Limits) -> tuple[PhysicalDelta, ...]:
    entries = read_list(read_object(answer, "$", ("scenes",))["scenes"], "$.scenes", limits.max_events)
    deltas = []
    for index, entry in enumerate(entries):
        at = f"$.scenes[{index}]"
        fields = read_object(entry, at, ("description", "fraction"))
        description = " ".join(read_text(fields["description"], f"{at}.description", limits.max_text).split())
        fraction = read_number(fields["fraction"], f"{at}.fraction")
        deltas.append(PhysicalDelta((StateChange(SCENE, description, NO_RULE),), fraction))
    return tuple(deltas)
