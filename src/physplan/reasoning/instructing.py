"""The instruction of one keyframe: the reasoner's where it keeps the rules, else from the net edits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from physplan.graph import EventChain, GraphError
from physplan.graph.instructions import RULES
from physplan.reasoning.instruction import instruction_problems
from physplan.reasoning.protocol import BadAnswer, Feedback, KeyframeTask, Reasoner, Scene
from physplan.reasoning.record import Step
from physplan.reasoning.writer import write_instruction


@dataclass(frozen=True, kw_only=True)
class Instructor:
    """A reasoner at the act `instruct`."""

    reasoner: Reasoner
    scene: Scene
    retries: int = 1
    progress: Callable[[Step], None] = lambda step: None

    def __call__(self, task: KeyframeTask) -> tuple[str, str]:
        """The instruction and who wrote it."""
        feedback = Feedback()
        for attempt in range(1, self.retries + 2):
            try:
                text = self.reasoner.instruct(self.scene, task, feedback)
                problems = () if self.reasoner.free_instructions else tuple(instruction_problems(task, text))
                answer = text
            except (BadAnswer, GraphError) as error:
                problems, answer = problems_of(error)
            words = "accepted" if not problems else "sent back: " + " ".join(problems)
            self.progress(Step(stage="instruct", event=task.event, attempt=attempt, message=words))
            if not problems:
                return text, self.reasoner.name
            feedback = Feedback(attempt=attempt + 1, problems=problems, previous=answer)
        # Appendix A.4 gives no rule that needs a model: what it cannot word, the net edits themselves word.
        return write_instruction(task), RULES


def problems_of(error: BadAnswer | GraphError) -> tuple[tuple[str, ...], str]:
    """The problems of a refused answer, and the answer."""
    return (error.problems, error.answer) if isinstance(error, BadAnswer) else ((str(error),), "")


def keyframe_tasks(chain: EventChain) -> list[KeyframeTask]:
    return [
        KeyframeTask(
            event=index,
            graph=chain.graph,
            target=event.graph,
            net_edits=event.net_edits,
            places={id: chain.origin(id) for id in event.graph.ids if id not in chain.graph},
        )
        for index, event in enumerate(chain.events, start=1)
    ]
