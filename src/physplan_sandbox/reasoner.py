"""The world's reasoner: parses the picture with its own perception, applies the rules to prompt and graph.

The planning loop treats it as it treats a VLM: every answer is checked, and edits change the graph only when
the four checks accept them. It never sees the simulator's truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from physplan.calls.settings import CallSettings
from physplan.errors import PhysPlanError
from physplan.graph import PhysicalDelta, StateGraph
from physplan.perception import DepthEstimator, Segmenter
from physplan.perception.protocol import PerceptionModels
from physplan.perception.registry import DEPTH_ESTIMATORS, SEGMENTERS
from physplan.pictures import to_tensor
from physplan.reasoning.protocol import (
    BadAnswer,
    Feedback,
    KeyframeTask,
    Reasoner,
    Revision,
    Scene,
    Translation,
)
from physplan.reasoning.writer import write_instruction
from physplan_sandbox.parser import parse_picture
from physplan_sandbox.photographs import check_picture
from physplan_sandbox.prompts import NotInTheSandbox, matching
from physplan_sandbox.rules import instantiate, motions

RULES_VERSION = 2

Prediction = tuple[tuple[PhysicalDelta, ...], tuple[Translation, ...]]


class SandboxReasoner(Reasoner):
    """Needs no key and no network; `segmenter` and `depth` default to the ones trained on the world."""

    name = "sandbox"
    calls_out = None

    def __init__(
        self,
        settings: CallSettings | None = None,
        *,
        segmenter: Segmenter | None = None,
        depth: DepthEstimator | None = None,
    ) -> None:
        self._segmenter, self._depth = segmenter, depth
        # What was predicted for a picture and a prompt: delta -> its edits and motion.
        self._predicted: dict[tuple[str, str], dict[PhysicalDelta, Translation]] = {}

    def parse(self, scene: Scene, feedback: Feedback) -> StateGraph:
        check_picture(scene.picture.image)
        matching(scene.prompt)  # an unknown prompt is answered before any network runs
        return parse_picture(to_tensor(scene.picture.image), **self.perception)

    @property
    def perception(self) -> PerceptionModels:
        if self._segmenter is None:
            self._segmenter = SEGMENTERS.load("sandbox")()
        if self._depth is None:
            self._depth = DEPTH_ESTIMATORS.load("sandbox")()
        return {"segmenter": self._segmenter, "depth": self._depth}

    def predict(self, scene: Scene, graph: StateGraph) -> Prediction:
        return predict(scene.prompt, graph)

    def decompose(
        self,
        scene: Scene,
        graph: StateGraph,
        feedback: Feedback,
        *,
        max_events: int,
        revision: Revision | None,
    ) -> tuple[PhysicalDelta, ...]:
        if revision is not None or feedback.problems:
            reasons = " ".join(revision.reasons if revision else feedback.problems)
            raise PhysPlanError(
                f"The sandbox's rules have one answer to this scene, and it was refused: {reasons}"
            )
        deltas, translations = self.predict(scene, graph)
        self._predicted[scene.picture.sha256, scene.prompt] = dict(zip(deltas, translations, strict=True))
        return deltas

    def translate(
        self, scene: Scene, graph: StateGraph, delta: PhysicalDelta, feedback: Feedback
    ) -> Translation:
        known = self._predicted.get((scene.picture.sha256, scene.prompt), {})
        if delta not in known:
            raise BadAnswer("the sandbox translates only the deltas that it predicted")
        return known[delta]

    def instruct(self, scene: Scene, task: KeyframeTask, feedback: Feedback) -> str:
        return write_instruction(task)

    def provenance(self) -> Mapping[str, Any]:
        return {"rules": RULES_VERSION}


def predict(prompt: str, graph: StateGraph) -> Prediction:
    """What the rules say happens, by the first case whose roles and conditions the graph fills."""
    rules = matching(prompt)
    for case in rules.cases.values():
        if (bound := case.bind(graph)) is not None:
            deltas, edits = instantiate(case, bound, graph)
            moving = motions(case, bound, graph)
            return deltas, tuple(Translation(edits=e, motion=m) for e, m in zip(edits, moving, strict=True))
    needed = "; or ".join(", ".join(_spoken(case.when, case.roles)) for case in rules.cases.values())
    seen = ", ".join(dict.fromkeys(node.category for node in graph.nodes)) or "nothing"
    raise NotInTheSandbox(
        f"The sandbox knows how {rules.about}, but this picture does not show it: it needs {needed}; "
        f"what it sees is {seen}."
    )


def _spoken(conditions: tuple[str, ...], roles: Mapping[str, str]) -> list[str]:
    return [" ".join(roles.get(word, word) for word in condition.split()) for condition in conditions]
