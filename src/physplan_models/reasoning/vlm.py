"""The reasoner of the paper: one vision-language model with four instructions (appendix A.3, A.4)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from physplan.calls.gateway import Gateway
from physplan.calls.protocol import ImagePart, Request
from physplan.graph import (
    GraphError,
    Limits,
    PhysicalDelta,
    StateGraph,
    edits_to_json,
    parse_deltas,
    parse_graph,
    parse_json,
    parse_translation,
)
from physplan.reasoning import templates
from physplan.reasoning.protocol import (
    BadAnswer,
    Feedback,
    KeyframeTask,
    Reasoner,
    Revision,
    Scene,
    Translation,
)
from physplan.reasoning.templates import PromptSet
from physplan_models.reasoning import schemas

T = TypeVar("T")


class VLMReasoner(Reasoner):
    """Asks through a gateway: JSON-constrained at the server, and read again here within limits."""

    name = "vlm"
    # Whether it is also asked how things move. Without, the questions are the paper's, and answers that were
    # stored for them replay.
    asks_motion = False

    @staticmethod
    def usual_calls(events: int) -> int:
        """Parse and decompose once; translate and instruct for each event."""
        return 2 + 2 * events

    def __init__(
        self,
        gateway: Gateway,
        model: str,
        *,
        temperature: float | None = 0.0,
        max_output_tokens: int = 16_384,
        limits: Limits | None = None,
        prompts: PromptSet | None = None,
    ) -> None:
        self.gateway = gateway
        self.model = model
        self.temperature = temperature
        self.max_output_tokens = max_output_tokens
        self.limits = limits or Limits()
        self.prompts = prompts or PromptSet.read(None)
        self._order = itertools.count(1)

    def parse(self, scene: Scene, feedback: Feedback) -> StateGraph:
        return self._ask(
            scene,
            "parse",
            feedback,
            schema=schemas.GRAPH,
            read=lambda answer: parse_graph(schemas.graph_json(answer), self.limits),
            images=(scene.picture.part,),
            blocks={"user_prompt": scene.prompt},
        )

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
            "decompose",
            feedback,
            schema=schemas.DELTAS,
            read=lambda answer: parse_deltas(schemas.deltas_json(answer), self.limits),
            images=(scene.picture.part,),
            blocks={"graph": graph.to_json(), "user_prompt": scene.prompt, **revision_blocks(revision)},
            values={"max_events": max_events},
        )

    def translate(
        self, scene: Scene, graph: StateGraph, delta: PhysicalDelta, feedback: Feedback
    ) -> Translation:
        edits, motion = self._ask(
            scene,
            "translate",
            feedback,
            schema=schemas.MOVING_EDITS if self.asks_motion else schemas.EDITS,
            read=lambda answer: parse_translation(schemas.edits_json(answer), self.limits),
            blocks={"graph": graph.to_json(), "delta": delta.to_json()},
            sections=("motion",) if self.asks_motion else (),
        )
        return Translation(edits=edits, motion=motion)

    def instruct(self, scene: Scene, task: KeyframeTask, feedback: Feedback) -> str:
        return self._ask(
            scene,
            "instruct",
            feedback,
            schema=schemas.INSTRUCTION,
            read=_instruction,
            images=(scene.picture.part,),
            blocks={
                "graph": task.graph.to_json(),
                "net_edits": edits_to_json(task.net_edits),
                "places": dict(task.places),
            },
            event=task.event,
        )

    def provenance(self) -> Mapping[str, Any]:
        return {
            "provider": self.gateway.client.provider,
            "model": self.model,
            "temperature": self.temperature,
            "prompts": self.prompts.version,
            **({"motion": templates.MOTION_VERSION} if self.asks_motion else {}),
        }

    def _ask(
        self,
        scene: Scene,
        act: str,
        feedback: Feedback,
        *,
        schema: Mapping[str, Any],
        read: Callable[[Any], T],
        blocks: Mapping[str, Any],
        images: tuple[ImagePart, ...] = (),
        values: Mapping[str, object] | None = None,
        event: int = 0,
        sections: tuple[str, ...] = (),
    ) -> T:
        request = Request(
            purpose=act,
            model=self.model,
            system=self.prompts.instructions(act, sections, **(values or {})),
            text=templates.message(**blocks, **templates.feedback_blocks(feedback)),
            images=images,
            schema=schema,
            temperature=self.temperature,
            max_output_tokens=self.max_output_tokens,
        )
        record = self.gateway.ask(request)
        reply, used = record.reply, record.reply.usage
        # Instructions are written side by side: they are ordered by event, what comes before them by time.
        order = (1, event, feedback.attempt) if event else (0, next(self._order), 0)
        scene.trace.add(
            order,
            {
                "purpose": act,
                **({"event": event} if event else {}),
                "attempt": feedback.attempt,
                "key": record.key,
                "served_by": reply.model,
                **({"input_tokens": used.input_tokens, "output_tokens": used.output_tokens} if used else {}),
            },
        )
        if reply.truncated:
            problem = f"the answer was cut off at {self.max_output_tokens} tokens: answer more briefly"
            raise BadAnswer(problem, answer=reply.text)
        try:
            return read(parse_json(_unfenced(reply.text), self.limits))
        except (GraphError, BadAnswer) as error:
            raise BadAnswer(str(error), answer=reply.text) from None


class MotionReasoner(VLMReasoner):
    """Asked for the law by which each changed object gets to its new state, in the same question."""

    name = "vlm-motion"
    asks_motion = True


def revision_blocks(revision: Revision | None) -> dict[str, Any]:
    if revision is None:
        return {}
    return {
        "events_so_far": [delta.to_json() for delta in revision.kept],
        "rejected_events": [delta.to_json() for delta in revision.rejected],
        "reasons": list(revision.reasons),
    }


def _instruction(answer: Any) -> str:
    text = answer.get("instruction") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise BadAnswer('the answer must be {"instruction": "..."}')
    return " ".join(text.split())


def _unfenced(text: str) -> str:
    """Without the code fence that some servers' models put around JSON although a schema is given."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        return text[3:-3].removeprefix("json").strip()
    return text
