"""Ablations (i) and (ii) of the plan as reasoners of the small world: `plan_ablations` as verified plans.

Every plan in a file passes the four checks, so here each change is stated as the edits have it, and an event
in which nothing changes is left out. As with a model, nothing moves by a law.
"""

from __future__ import annotations

from dataclasses import replace

from physplan.errors import PhysPlanError
from physplan.graph import Event, EventChain, NewObject, PhysicalDelta, Spawn, StateChange, StateGraph
from physplan.graph.net_differences import net_difference
from physplan.keyframes import RenderSettings, render_keyframes
from physplan.reasoning.protocol import Scene, Translation
from physplan_sandbox.plan_ablations import full_graph_plan, prompt_only_plan
from physplan_sandbox.reasoner import Prediction, SandboxReasoner, predict

STATE, RULE = "changed", "no rule: it differs from the state before"


class PromptDerivedSandboxReasoner(SandboxReasoner):
    """(i): what the words usually lead to, whatever the picture shows."""

    name = "sandbox-prompt-derived"

    def predict(self, scene: Scene, graph: StateGraph) -> Prediction:
        return _stated(prompt_only_plan(scene.prompt, graph, scene.num_frames))


class FullGraphSandboxReasoner(SandboxReasoner):
    """(ii): every state is drawn and its whole graph parsed again; the differences are the edits."""

    name = "sandbox-full-graph"

    def predict(self, scene: Scene, graph: StateGraph) -> Prediction:
        from physplan_sandbox.editor import SandboxEditor

        deltas, translations = predict(scene.prompt, graph)
        chain = EventChain.build(
            prompt=scene.prompt,
            num_frames=scene.num_frames,
            graph=graph,
            deltas=deltas,
            edits=[translation.edits for translation in translations],
        )
        drawn = render_keyframes(
            chain,
            scene.picture.image,
            editor=SandboxEditor(),
            settings=RenderSettings(redraws=0),
            **self.perception,
        )
        images = [keyframe.image for keyframe in drawn]
        return _stated(
            _without_returns(full_graph_plan(chain, scene.picture.image, images, **self.perception))
        )


def _without_returns(chain: EventChain) -> EventChain:
    """Without states that overlook what a later one shows: in a plan nothing that is gone comes back."""
    spawns = {edit.id: edit for event in chain.events for edit in event.edits if isinstance(edit, Spawn)}
    kept: list[Event] = []
    shown_later: set[str] = set()
    for event in reversed(chain.events):
        before = {
            *chain.graph.ids,
            *(id for e in chain.events if e.anchor < event.anchor for id in e.graph.ids),
        }
        if not (shown_later & before) - set(event.graph.ids):
            kept.insert(0, event)
            shown_later |= set(event.graph.ids)
    graphs = [chain.graph, *(event.graph for event in kept)]
    return replace(
        chain,
        events=tuple(
            replace(event, edits=tuple(net_difference(before, event.graph, spawns)))
            for event, before in zip(kept, graphs, strict=False)
        ),
    )


def _stated(chain: EventChain) -> Prediction:
    events = [event for event in chain.events if event.edits]
    if not events:
        raise PhysPlanError(
            "Planned without care, nothing changes in this picture, so there is no video to make: use the "
            "method guided_sketch, or another picture."
        )
    return tuple(_delta(event) for event in events), tuple(Translation(edits=e.edits) for e in events)


def _delta(event: Event) -> PhysicalDelta:
    """An entry for each object that the edits change; where a new one comes from announces it."""
    given = {change.object: change for change in event.delta.states}
    spawns = [edit for edit in event.edits if isinstance(edit, Spawn)]
    new = {edit.id for edit in spawns}
    changed = dict.fromkeys(id for edit in event.edits for id in edit.targets() if id not in new)
    states = []
    for id in changed:
        state, rule = (given[id].state, given[id].rule) if id in given else (STATE, RULE)
        states.append(StateChange(id, state, rule))
    states += [StateChange(e.id, STATE, RULE, NewObject(e.id, e.source)) for e in spawns if e.source]
    return PhysicalDelta(tuple(states), event.delta.fraction)
