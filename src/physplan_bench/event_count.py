"""Plans of K events, for the cost of K = 5 and 7: the reasoner's own prompts, which ask for just so many.

A model may still answer with fewer; every table counts the events that a plan has.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.files import write_atomic
from physplan.graph import Limits
from physplan.reasoning.registry import REASONERS
from physplan.reasoning.templates import PromptSet

ASKED: Mapping[str, tuple[str, str]] = {  # by prompt: what it says, and what it says instead
    "decompose": (
        "One to {{max_events}} events; as few as show the phenomenon, usually two to four.",
        "Exactly {{max_events}} events.",
    ),
    "scenes": ("one to {{max_events}}, usually two to four", "exactly {{max_events}}"),
}


def require_prompts(reasoner: str) -> None:
    """Refuse a number of events where no model predicts events."""
    if "prompts" not in inspect.signature(REASONERS.load(reasoner)).parameters:
        raise PhysPlanError(
            f"The reasoner {reasoner!r} asks no model, so --events has no effect: leave it out."
        )


def event_settings(events: int, work: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the reasoner with which plans have K events; the prompts go into a folder in `work`."""
    most = Limits().max_events
    if not 1 <= events <= most:
        raise PhysPlanError(f"--events is {events}: a plan has 1 to {most} events.")
    if taken := [name for name in ("reasoner.prompts", "reasoner.max_events") if name in given]:
        raise PhysPlanError(f"--events words the prompts itself: leave out --set {taken[0]}.")
    folder = work / f"prompts-{events}-events"
    folder.mkdir(parents=True, exist_ok=True)
    own = PromptSet.read(None).texts
    for name, (usual, instead) in ASKED.items():
        if usual not in own[name]:
            raise PhysPlanError(f"The prompt {name} asks for events in other words: leave out --events.")
        write_atomic(folder / f"{name}.md", own[name].replace(usual, instead).encode())
    return {"reasoner.prompts": str(folder), "reasoner.max_events": events}
