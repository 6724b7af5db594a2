"""The prompts: instructions from template files, and data in blocks that no data can leave."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any

from physplan.graph import ATTRIBUTES, CONVENTIONS, LAWS, RELATIONS, Limits
from physplan.reasoning.instruction import CLOSING, MAX_INSTRUCTION
from physplan.reasoning.protocol import Feedback

VERSION = 1  # part of every plan's provenance; raise it with every change of a template
MOTION_VERSION = 1  # of the section on motion, where it is asked for
LONGEST_PREVIOUS = 20_000


def instructions(name: str, sections: tuple[str, ...] = (), /, **values: object) -> str:
    """The system instruction of an act: its template and further sections, with the vocabulary filled in."""
    limits = Limits()
    known: dict[str, object] = {
        "attributes": "\n".join(
            f"- {key.name}: {key.describes} ({', '.join(key.examples)})" for key in ATTRIBUTES.values()
        ),
        "relations": "\n".join(f"- {relation.name}: {relation.meaning}" for relation in RELATIONS.values()),
        "conventions": "\n".join(
            f"- {convention.situation}: {' + '.join(convention.relations)} ({convention.note})"
            for convention in CONVENTIONS
        ),
        "laws": "\n".join(f"- {law.name}: {law.formula}" for law in LAWS.values()),
        "max_nodes": limits.max_nodes,
        "max_value": limits.max_value,
        "max_text": limits.max_text,
        "max_instruction": MAX_INSTRUCTION,
        "closing": CLOSING,
        **values,
    }
    text = "\n".join(_template(part) for part in (name, *sections, "data"))
    return re.sub(r"\{\{(\w+)\}\}", lambda match: str(known[match.group(1)]), text)


def message(**blocks: Any) -> str:
    """The data of an act. JSON strings cannot end their block: "<" is escaped inside them."""
    return "\n".join(
        f'<data name="{name}">\n{_json(value)}\n</data>'
        for name, value in blocks.items()
        if value is not None
    )


def feedback_blocks(feedback: Feedback) -> dict[str, Any]:
    """Nothing at first; then the attempt's number, so that no two attempts are the same question, and why."""
    if feedback.attempt == 1:
        return {}
    return {
        "attempt": feedback.attempt,
        "previous_answer": feedback.previous[:LONGEST_PREVIOUS],
        "problems": list(feedback.problems),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


@cache
def _template(name: str) -> str:
    return resources.files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
