"""A keyframe instruction from the net edits alone, without a model: plain, and true to the rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from physplan.graph import Consume, Link, Spawn, Unlink, Update
from physplan.reasoning.instruction import CLOSING
from physplan.reasoning.naming import identifier, refer
from physplan.reasoning.protocol import KeyframeTask

# (a, r, b) as an arrangement that can be seen; {no} is "no longer " where it is gone.
ARRANGEMENTS = {
    "support": "{b} is {no}resting on {a}",
    "contact": "{a} is {no}touching {b}",
    "containment": "{b} is {no}inside {a}",
    "attachment": "{b} is {no}attached to {a}",
    "left of": "{a} is {no}to the left of {b}",
    "above": "{a} is {no}above {b}",
    "in front of": "{a} is {no}in front of {b}",
    "near": "{a} is {no}close to {b}",
}
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
UNTOLD = {"intact", "none", "unknown", "normal", "default", "n/a"}
UNCOUNTED = {
    "water",
    "steam",
    "smoke",
    "ice",
    "snow",
    "sand",
    "fire",
    "foam",
    "dust",
    "milk",
    "oil",
    "liquid",
}


def write_instruction(task: KeyframeTask) -> str:
    """One clause for each net edit, as the state to be seen, and the request to keep the rest."""
    sentences = [*_replaced(task), *_added(task), *_updated(task), *_arranged(task)]
    text = " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)
    return f"{text} {CLOSING}".strip()


def _replaced(task: KeyframeTask) -> list[str]:
    sentences = []
    for edit in task.net_edits:
        if isinstance(edit, Consume):
            new = [s.id for s in _spawns(task) if task.places[s.id] == edit.o]
            gone = refer(task.graph, edit.o)
            sentences.append(f"replace {gone} with {_describe(task, new)}" if new else f"remove {gone}")
    return sentences


def _added(task: KeyframeTask) -> list[str]:
    """New objects whose place in the first frame is still taken by the object they come from."""
    places = dict.fromkeys(task.places[s.id] for s in _spawns(task) if task.places[s.id] in task.target)
    return [
        f"add {_describe(task, [s.id for s in _spawns(task) if task.places[s.id] == place])} "
        f"at {refer(task.graph, place)}"
        for place in places
    ]


def _updated(task: KeyframeTask) -> list[str]:
    values: dict[str, list[str]] = {}
    for edit in task.net_edits:
        if isinstance(edit, Update) and edit.o in task.graph:
            values.setdefault(edit.o, []).append(_words(task, edit.value))
    return [f"make {_call(task, id)} {_join(new)}" for id, new in values.items()]


def _arranged(task: KeyframeTask) -> list[str]:
    sentences = []
    for edit in task.net_edits:
        if isinstance(edit, Link | Unlink):
            no_longer = "no longer " if isinstance(edit, Unlink) else ""
            a, b = _call(task, edit.a), _call(task, edit.b)
            sentences.append(ARRANGEMENTS[edit.r].format(a=a, b=b, no=no_longer))
    return sentences


def _spawns(task: KeyframeTask) -> list[Spawn]:
    return [edit for edit in task.net_edits if isinstance(edit, Spawn)]


def _call(task: KeyframeTask, id: str) -> str:
    """An object of the first frame by what tells it apart there, a new one by its category."""
    if id in task.graph:
        return refer(task.graph, id)
    category = task.target.node(id).category
    known = any(node.category.casefold() == category.casefold() for node in task.graph.nodes)
    return f"the new {category}" if known else f"the {category}"


def _describe(task: KeyframeTask, ids: Sequence[str]) -> str:
    """New objects with their states; those that look alike are counted."""
    described: dict[tuple[str, tuple[str, ...]], int] = {}
    for id in ids:
        node = task.target.node(id)
        states = tuple(_words(task, v) for v in node.attributes.values() if v.casefold() not in UNTOLD)
        described[node.category, states] = described.get((node.category, states), 0) + 1
    return _join(
        [
            _counted(category, count) + (f" ({', '.join(states)})" if states else "")
            for (category, states), count in described.items()
        ]
    )


def _counted(category: str, count: int) -> str:
    if count > 1:
        plural = category if category.endswith("s") else f"{category}s"
        return f"{NUMBERS.get(count, 'several')} {plural}"
    last = category.split()[-1].casefold()
    if last in UNCOUNTED or (last.endswith("s") and not last.endswith("ss")):
        return f"some {category}"
    return f"{'an' if category[0].casefold() in 'aeiou' else 'a'} {category}"


def _words(task: KeyframeTask, value: str) -> str:
    """A value without identifiers: those of objects that can be seen are described, others left out."""
    for id in sorted({*task.graph.ids, *task.target.ids}, key=len, reverse=True):
        value = identifier(id).sub(_call(task, id).replace("\\", " "), value)
    return re.sub(r"\s*\w*#\s?\d+", "", value).strip(" .") or "changed"


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
