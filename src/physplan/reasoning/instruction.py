"""The rules of a keyframe instruction (appendix A.4), as checks: a prompt asks for them, this makes sure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from physplan.graph import Consume, Link, Node, Spawn, Unlink, Update
from physplan.reasoning.naming import attribute_marks, identifier, mentions, relation_marks, siblings, without
from physplan.reasoning.protocol import KeyframeTask

CLOSING = "Keep everything else in the image unchanged."
MAX_INSTRUCTION = 1500
IDENTIFIER = re.compile(r"\w*#\s?\d+")
ENDING = re.compile(
    r"\b(keep|leave)\b[^.]*\b(else|rest|other)\b[^.]*\b(unchanged|as (it|they) (is|are)|same)\b\W*$"
)
SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
EVERY_ONE = re.compile(r"\b(both|all|each|every)\b", re.IGNORECASE)


def instruction_problems(task: KeyframeTask, text: str) -> list[str]:
    """Every rule that the instruction breaks, one sentence each; none when it is fine."""
    if not text.strip():
        return ["the instruction is empty: describe each change, then ask to keep the rest"]
    if len(text) > MAX_INSTRUCTION:
        return [f"the instruction has {len(text)} characters, the limit is {MAX_INSTRUCTION}: shorten it"]
    if not text.isprintable():
        return ["the instruction contains unprintable characters: write plain text on one line"]
    *_, closing = SENTENCE_END.split(text.strip())
    body = text.strip().removesuffix(closing) if ENDING.search(closing.casefold()) else text
    problems = list(_identifiers(task, text))
    problems += _unnamed_changes(task, body)
    problems += _foreign_objects(task, body)
    problems += _unplaced_objects(task, body)
    problems += _ambiguous_objects(task, body)
    if body == text:
        problems.append(f"it must end with: {CLOSING}")
    return problems


def named_ids(task: KeyframeTask) -> list[str]:
    """The objects that the net edits name, and the places of new ones: all it may talk about."""
    ids: dict[str, None] = {}
    for edit in task.net_edits:
        ids |= dict.fromkeys(edit.targets())
        if isinstance(edit, Spawn):
            ids |= dict.fromkeys([edit.id, task.places[edit.id]])
    for words in _edit_words(task):  # "wet beneath ice#1" names the ice too
        ids |= dict.fromkeys(id for id in (*task.graph.ids, *task.target.ids) if identifier(id).search(words))
    # A source that is neither in the first frame nor in this state is nowhere to be seen.
    return [id for id in ids if id in task.graph or id in task.target]


def node_of(task: KeyframeTask, id: str) -> Node:
    return task.graph.node(id) if id in task.graph else task.target.node(id)


def _identifiers(task: KeyframeTask, text: str) -> Iterator[str]:
    if match := IDENTIFIER.search(text):
        yield f"it contains {match.group()!r}: the editor knows no identifiers, describe the object instead"


def _unnamed_changes(task: KeyframeTask, body: str) -> Iterator[str]:
    changed: dict[str, None] = {}
    for edit in task.net_edits:
        if isinstance(edit, Update | Consume):
            changed[edit.o] = None
        elif isinstance(edit, Spawn):
            changed[edit.id] = None
    for id in changed:
        if not _named(body, category := node_of(task, id).category):
            yield f"it does not say what becomes of the {category}: describe its state"
    for edit in task.net_edits:
        if isinstance(edit, Link | Unlink):
            ends = [node_of(task, end).category for end in (edit.a, edit.b)]
            if not any(_named(body, category) for category in ends):
                yield f"it does not describe how the {ends[0]} and the {ends[1]} are arranged"


def _foreign_objects(task: KeyframeTask, body: str) -> Iterator[str]:
    """Objects that no edit names, but for those that tell edited ones apart or that an edit's value names."""
    allowed = {node_of(task, id).category for id in named_ids(task)}
    for node in _ambiguous(task):
        allowed |= {mark.other for mark in relation_marks(task.graph, node) if mark.other}
    words = " ; ".join(_edit_words(task))
    rest = body
    for category in sorted(allowed, key=len, reverse=True):
        rest = without(rest, category)
    for category in dict.fromkeys(node.category for node in (*task.graph.nodes, *task.target.nodes)):
        if category not in allowed and mentions(rest, category) and not mentions(words, category):
            yield f"it mentions the {category}, which no edit changes: leave it out"


def _unplaced_objects(task: KeyframeTask, body: str) -> Iterator[str]:
    for edit in task.net_edits:
        if isinstance(edit, Spawn):
            place = task.graph.node(task.places[edit.id]).category
            if not _named(body, place):
                yield f"it does not say where the {edit.category} appears: it comes from the {place}"


def _ambiguous_objects(task: KeyframeTask, body: str) -> Iterator[str]:
    named = set(named_ids(task))
    for node in _ambiguous(task):
        together = {node.id, *(sibling.id for sibling in siblings(task.graph, node))} <= named
        if together and EVERY_ONE.search(body):
            continue
        sentences = [s for s in SENTENCE_END.split(body) if _named(s, node.category)]
        relations = relation_marks(task.graph, node)
        marks = relations or attribute_marks(task.graph, node)
        if marks and not any(_marked(s, mark.phrase, mark.other) for s in sentences for mark in marks):
            example = f"{marks[0].phrase} the {marks[0].other}" if marks[0].other else marks[0].phrase
            yield (
                f"there are several objects of the category {node.category}: tell which one is meant by a "
                f"relation, such as '{node.category} {example}'"
            )


def _ambiguous(task: KeyframeTask) -> list[Node]:
    nodes = [task.graph.node(id) for id in named_ids(task) if id in task.graph]
    return [node for node in nodes if siblings(task.graph, node)]


def _marked(sentence: str, phrase: str, other: str | None) -> bool:
    """A relation counts as mentioned when its key word, or the object it leads to, is in the sentence."""
    if other is not None:
        return mentions(sentence, other)
    key = phrase.split()[-1]
    return mentions(sentence, phrase) or mentions(sentence, key)


def _named(text: str, category: str) -> bool:
    """By the whole category or by its last word: 'the cube' is enough for an ice cube."""
    return mentions(text, category) or mentions(text, category.split()[-1])


def _edit_words(task: KeyframeTask) -> Iterator[str]:
    for edit in task.net_edits:
        if isinstance(edit, Update):
            yield edit.value
        elif isinstance(edit, Spawn):
            yield edit.category
            yield from edit.attributes.values()
