"""What happens in a plan, event by event, as one sentence: words for a video model."""

from __future__ import annotations

import re

from physplan.graph.chain import EventChain

ID = re.compile(r"\b([\w-]+)#\d+")


def happening(chain: EventChain) -> str:
    """The events' states in order; keyframes without words for the way between them give slides."""
    names = {node.id: node.category for graph in chain.graphs for node in graph.nodes}

    def named(text: str) -> str:
        return ID.sub(lambda found: names.get(found[0], found[1]).replace("_", " "), text)

    told = []
    for number, event in enumerate(chain.events):
        begins = "First" if number == 0 else "at the end" if number == len(chain.events) - 1 else "then"
        changes = (f"the {named(change.object)} is {named(change.state)}" for change in event.delta.states)
        told.append(f"{begins}, {' and '.join(changes)}")
    return "; ".join(told) + "."


def words_for_video(prompt: str, chain: EventChain | None, kind: str, more: str = "") -> str:
    """The user's sentence, the plan's, or both; without a plan the user's. `more` is last."""
    told = [prompt] if chain is None or kind != "plan" else []
    told += [happening(chain)] if chain is not None and kind != "user" else []
    told += [more] if more else []
    return ". ".join([*(words.rstrip(" .") for words in told[:-1]), told[-1]])
