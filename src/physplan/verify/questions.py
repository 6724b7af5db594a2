"""What a plan lets one ask of a video: a statement with a time for every net edit and every bystander."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from physplan.graph import EventChain
from physplan.sketch.scene import changes
from physplan.verify.limits import Limits, looked_at
from physplan.verify.words import edit_in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Whether `statement` is true from `start` to `end` seconds; `event` is None for a bystander."""

    statement: str
    objects: tuple[str, ...]
    event: int | None  # from 1
    edit: str  # as the verdict writes it; a bystander's is its object
    start: float
    end: float

    def text(self) -> str:
        return f"From {self.start:.2f} s to {self.end:.2f} s: {self.statement}."


def questions_of(chain: EventChain, fps: float, limits: Limits | None = None) -> tuple[Question, ...]:
    """In the verdict's order: each event's net edits, then every object that nothing acts on."""
    limits, asked = limits or Limits(), []
    for index, event in enumerate(chain.events):
        times = looked_at(chain, index, limits)
        asked += [
            Question(
                statement=edit_in_words(str(edit)),
                objects=edit.targets(),
                event=index + 1,
                edit=str(edit),
                start=times[0] / fps,
                end=times[-1] / fps,
            )
            for edit in event.net_edits
        ]
    acting, end = changes(chain), (chain.num_frames - 1) / fps
    return (
        *asked,
        *(
            Question(
                statement=f"{node.id} is where it was in the first frame, with the same shape and look",
                objects=(node.id,),
                event=None,
                edit=node.id,
                start=0.0,
                end=end,
            )
            for node in chain.graph.nodes
            if node.id not in acting
        ),
    )


def legend(chain: EventChain, objects: Sequence[str]) -> str:
    """What the ids of objects stand for: a line each, from the state in which each is first seen."""
    found = {node.id: node for graph in reversed(chain.graphs) for node in graph.nodes}
    lines = []
    for id in dict.fromkeys(objects):
        if node := found.get(id):
            about = ", ".join(f"{key} {value}" for key, value in node.attributes.items())
            lines.append(f"{id}: {node.category}" + (f" ({about})" if about else ""))
    return "\n".join(lines)
