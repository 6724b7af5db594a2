"""An edited plan: verified, with graphs, net edits, anchors and instructions that follow from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from physplan.calls.parallel import side_by_side
from physplan.errors import PhysPlanError
from physplan.foreign import read_file
from physplan.graph import EventChain, Limits, parse_json
from physplan.graph.instructions import DRAFT, USER
from physplan.reasoning.instructing import keyframe_tasks
from physplan.reasoning.instruction import instruction_problems
from physplan.reasoning.protocol import KeyframeTask
from physplan.reasoning.writer import write_instruction

Writer = Callable[[KeyframeTask], tuple[str, str]]  # the instruction, and who wrote it
PROMPT_DERIVED, SCENE = "prompt-derived", "scene#1"  # ablation (i): each state is a whole scene in words


def recheck_json(value: Any) -> tuple[EventChain, list[str]]:
    """A plan with what follows from its deltas and edits, and notes; instructions come from net edits."""
    return renew(*recompute(value))


def read_edited(path: str | os.PathLike[str]) -> tuple[EventChain, list[str]]:
    """A plan file with everything computed but its instructions."""
    try:
        value = parse_json(read_file(path, limit=Limits.FILE.max_bytes), Limits.FILE)
    except OSError:
        raise PhysPlanError(f"{path} cannot be read: give the plan.json of an earlier run.") from None
    return recompute(value)


def recompute(value: Any) -> tuple[EventChain, list[str]]:
    """Graphs, net edits and anchors from the deltas and edits, and which of the stored ones differed."""
    chain = EventChain.from_json(value, recompute=True)
    notes: list[str] = []
    for index, (event, old) in enumerate(zip(chain.events, value["events"], strict=True), start=1):
        new = event.to_json()
        changed = [
            name for name in ("anchor", "net_edits", "graph") if name in old and old[name] != new[name]
        ]
        if changed:
            notes.append(f"event {index}: recomputed: {', '.join(changed)}")
    return chain, notes


def renew(
    chain: EventChain, notes: list[str] | None = None, *, write: Writer | None = None, at_once: int = 1
) -> tuple[EventChain, list[str]]:
    """Rewrite every instruction that does not belong to its net edits. The one place where this is decided.

    `write` is a reasoner's (`Instructor`); without one the net edits are worded by rules, as a draft that a
    run with a model as reasoner replaces. A person's own instruction stays, with a note where it is doubtful.
    """
    notes, events, tasks = list(notes or ()), list(chain.events), keyframe_tasks(chain)
    reasons = {index: why for index in range(len(events)) if (why := _reason(chain, index, tasks[index]))}
    if write is not None:
        asked = (i for i, event in enumerate(events) if event.written and event.written.by == DRAFT)
        reasons |= {index: "it was a draft" for index in asked if index not in reasons}
    writer = write or _by_rules(chain)
    written = side_by_side(lambda index: writer(tasks[index]), list(reasons), at_once=at_once)
    for (index, why), (text, by) in zip(reasons.items(), written, strict=True):
        if text != events[index].instruction:
            notes.append(f"event {index + 1}: the instruction was rewritten, because {why}")
        events[index] = events[index].instructed(text, by)
    for index, event in enumerate(events):
        if event.by_user and event.instruction is not None and event.written is not None:
            if event.written.change(event.net_edits, event.instruction) == "edits":
                notes.append(f"event {index + 1}: the edits changed; your own instruction is kept")
            if problems := instruction_problems(tasks[index], event.instruction):
                notes.append(f"event {index + 1}: of your own instruction: {'; '.join(problems)}")
            events[index] = event.instructed(event.instruction, USER)
    return replace(chain, events=tuple(events)), notes


def to_rewrite(chain: EventChain, *, asks: bool) -> int:
    """How many instructions `renew` would have written; `asks`: by a reasoner, which drafts go to as well."""
    tasks = keyframe_tasks(chain)
    drafts = (asks and event.written is not None and event.written.by == DRAFT for event in chain.events)
    return sum(draft or bool(_reason(chain, i, tasks[i])) for i, draft in enumerate(drafts))


def instruction_for(chain: EventChain, index: int) -> str:
    """What the image editor is given for an event, from 0: never words for other net edits."""
    event, task = chain.events[index], keyframe_tasks(chain)[index]
    if event.instruction is not None and event.outdated is None:
        return event.instruction
    return _by_rules(chain)(task)[0]


def _reason(chain: EventChain, index: int, task: KeyframeTask) -> str:
    """Why the instruction of an event is to be rewritten; empty when it is not."""
    event = chain.events[index]
    if event.instruction is None or event.by_user:
        return ""
    if (change := event.outdated) == "edits":
        return "it was written for other net edits"
    if change == "words":
        words = event.instruction
        return f'its words were changed to "{words}" (to keep your own, set "instruction_by": "user")'
    if change == "unbound":
        return 'it is not known for which net edits it was written (to keep it, set "instruction_by": "user")'
    free = chain.provenance.get("reasoner") == PROMPT_DERIVED
    return "" if free else "; ".join(instruction_problems(task, event.instruction))


def _by_rules(chain: EventChain) -> Writer:
    if chain.provenance.get("reasoner") == PROMPT_DERIVED and SCENE in chain.graph:
        return lambda task: (task.target.node(SCENE).attributes.get("configuration", ""), DRAFT)
    return lambda task: (write_instruction(task), DRAFT)
