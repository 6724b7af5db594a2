"""A plan that was edited by hand: verified again, with all that follows from it computed anew."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from physplan.errors import PhysPlanError
from physplan.foreign import read_file
from physplan.graph import EventChain, Limits, parse_json
from physplan.reasoning.instruction import instruction_problems
from physplan.reasoning.planner import keyframe_tasks
from physplan.reasoning.writer import write_instruction


def recheck(path: str | os.PathLike[str]) -> tuple[EventChain, list[str]]:
    """The plan with graphs, net edits and anchors from its deltas and edits, and notes on what changed.

    An instruction that no longer fits its net edits is written anew from them.
    """
    try:
        value = parse_json(read_file(path, limit=Limits.FILE.max_bytes), Limits.FILE)
    except OSError:
        raise PhysPlanError(f"{path} cannot be read: give the plan.json of an earlier run.") from None
    return recheck_json(value)


def recheck_json(value: Any) -> tuple[EventChain, list[str]]:
    """The same for a plan that was read already."""
    chain = EventChain.from_json(value, recompute=True)
    notes: list[str] = []
    for index, (event, old) in enumerate(zip(chain.events, value["events"], strict=True), start=1):
        new = event.to_json()
        changed = [
            name for name in ("anchor", "net_edits", "graph") if name in old and old[name] != new[name]
        ]
        if changed:
            notes.append(f"event {index}: computed anew: {', '.join(changed)}")
    if chain.provenance.get("reasoner") == "prompt-derived":
        return chain, notes  # its instructions describe whole scenes
    events = list(chain.events)
    for index, task in enumerate(keyframe_tasks(chain)):
        text = events[index].instruction
        if text is not None and (problems := instruction_problems(task, text)):
            events[index] = replace(events[index], instruction=write_instruction(task))
            notes.append(
                f"event {index + 1}: the instruction was written anew, because {'; '.join(problems)}"
            )
    return replace(chain, events=tuple(events)), notes
