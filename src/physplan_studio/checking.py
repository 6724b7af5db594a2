"""The checks of a plan that is being edited: the planner's own, with where on the page each fault lies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from physplan.graph import GraphError, Limits, RejectedEdits, parse_json
from physplan.graph.errors import ParseError
from physplan.reasoning.recheck import recheck_json


def check_plan(value: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with all that follows from it recomputed, or what is wrong with it."""
    try:  # as strictly as a file of unknown origin
        chain, notes = recheck_json(parse_json(json.dumps(value).encode(), Limits.FILE))
    except GraphError as error:
        rejected = error.__cause__ if isinstance(error.__cause__, RejectedEdits) else error
        if isinstance(rejected, RejectedEdits):
            return {"ok": False, "faults": _violations(rejected)}
        at, problem = (error.at, error.problem) if isinstance(error, ParseError) else ("$", str(error))
        return {"ok": False, "faults": [_located(at, problem)]}
    return {"ok": True, "plan": chain.to_json(), "notes": notes, "faults": []}


def _violations(error: RejectedEdits) -> list[dict[str, Any]]:
    event, part = _event_in(error.where), "motion" if "motion" in error.where else "edits"
    found = []
    for one in error.violations:
        named = re.match(r"motion\[(\d{1,6})\]", one.message)
        index = int(named[1]) if named else one.edit
        found.append(
            {"event": event, "part": part, "index": index, "check": one.check, "message": one.message}
        )
    return found


def _located(at: str, problem: str) -> dict[str, Any]:
    """A JSON path as a place on the page; "the edit set of event 2" inside a sentence counts too."""
    if (field := re.search(r"\.([a-z_]+)$", at)) and re.match("(is|has|must) ", problem):
        problem = f"{field[1].replace('_', ' ')} {problem}"
    found = re.match(r"\$\.events\[(\d{1,6})\](?:\.(delta|edits|motion)(?:\.states)?(?:\[(\d{1,6})\])?)?", at)
    if not found:
        return {"event": _event_in(problem), "part": None, "index": None, "check": None, "message": problem}
    part = {"delta": "states", "edits": "edits", "motion": "motion"}.get(found[2] or "")
    index = int(found[3]) if found[3] else None
    return {"event": int(found[1]), "part": part, "index": index, "check": None, "message": problem}


def _event_in(words: str) -> int | None:
    """From 0, as the page counts."""
    found = re.search(r"event (\d{1,6})", words)
    return int(found[1]) - 1 if found else None
