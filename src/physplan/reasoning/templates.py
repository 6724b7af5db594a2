"""The prompts: instructions from template files, and data in blocks that no data can leave."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.graph import ATTRIBUTES, CONVENTIONS, LAWS, RELATIONS, Limits
from physplan.reasoning.instruction import CLOSING, MAX_INSTRUCTION
from physplan.reasoning.protocol import Feedback
from physplan.registry import did_you_mean

VERSION = 1  # part of every plan's provenance; raise it with every change of a template
MOTION_VERSION = 1  # of the section on motion, where it is asked for
LONGEST_PREVIOUS = 20_000
MOST_BYTES = 100_000
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
# What an act fills in beside the vocabulary.
ACTS = {"decompose": ("max_events",), "scenes": ("max_events",)}


@dataclass(frozen=True)
class PromptSet:
    """The instructions of every act. `version` is ours, or the checksum of the user's own."""

    texts: Mapping[str, str]
    version: int | str

    @classmethod
    def read(cls, folder: str | os.PathLike[str] | None) -> PromptSet:
        """Ours, with those replaced that the folder holds under the same names; all are checked at once."""
        if folder is None:
            return cls(_own(), VERSION)
        given = _read_folder(Path(folder))
        for name, text in given.items():
            _check(Path(folder) / f"{name}.md", text, _own()[name], ACTS.get(name, ()))
        sha256 = hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()
        return cls({**_own(), **given}, sha256)

    def instructions(self, name: str, sections: tuple[str, ...] = (), /, **values: object) -> str:
        """The system instruction of an act: its template, further sections, and the vocabulary filled in."""
        known = {**_vocabulary(), **values}
        text = "\n".join(self.texts[part] for part in (name, *sections, "data"))
        return PLACEHOLDER.sub(lambda match: str(known[match[1]]), text)


@cache
def _vocabulary() -> Mapping[str, object]:
    limits = Limits()
    return {
        "attributes": "\n".join(
            f"- {key.name}: {key.describes} ({', '.join(key.examples)})" for key in ATTRIBUTES.values()
        ),
        "relations": "\n".join(f"- {relation.name}: {relation.meaning}" for relation in RELATIONS.values()),
        "conventions": "\n".join(
            f"- {convention.situation}: {' + '.join(convention.relations)} ({convention.note})"
            for convention in CONVENTIONS
        ),
        "laws": "\n".join(f"- {law.name}: {law.formula}" for law in LAWS.values() if law.offered),
        "max_nodes": limits.max_nodes,
        "max_value": limits.max_value,
        "max_text": limits.max_text,
        "max_instruction": MAX_INSTRUCTION,
        "closing": CLOSING,
    }


def _read_folder(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(folder.glob("[!.]*.md")):
        if path.stem not in _own():
            raise PhysPlanError(f"{path}: there is no prompt of this name. {did_you_mean(path.stem, _own())}")
        try:
            if not path.is_file() or path.stat().st_size > MOST_BYTES:
                raise PhysPlanError(f"{path}: a prompt is a file of at most {MOST_BYTES // 1000} kB.")
            found[path.stem] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise PhysPlanError(f"{path} cannot be read as UTF-8 text: check the file.") from None
    if not found:
        names = ", ".join(f"{name}.md" for name in _own())
        raise PhysPlanError(f"{folder} holds no prompts: put one or more of {names} there.")
    return found


def _check(path: Path, text: str, own: str, values: tuple[str, ...]) -> None:
    """The user's wording of a template has the same placeholders as ours, all of them and no other."""
    known = (*_vocabulary(), *values)
    used = [name.strip() for name in re.findall(r"\{\{([^{}]*)\}\}", text)]
    for name in used:
        if name not in known:
            raise PhysPlanError(f"{path}: nothing fills in {{{{{name}}}}}. {did_you_mean(name, known)}")
        if f"{{{{{name}}}}}" not in text:
            raise PhysPlanError(f"{path}: write {{{{{name}}}}} without spaces inside.")
    for name in PLACEHOLDER.findall(own):
        if name not in used:
            raise PhysPlanError(f"{path} lacks {{{{{name}}}}}: put it where the model is to read it.")


@cache
def _own() -> Mapping[str, str]:
    folder = resources.files(__package__).joinpath("prompts")
    return {
        name.removesuffix(".md"): folder.joinpath(name).read_text(encoding="utf-8")
        for name in sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".md"))
    }


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
