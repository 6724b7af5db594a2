"""Relations and edits in words, from the point of view of one of their objects."""

from __future__ import annotations

from physplan.graph import Consume, GraphEdit, Link, Spawn, Unlink, Update

# relation: how `b` sees it, how `a` sees it; the first of the two that is named tells it.
_FROM_B = {
    "support": "on",
    "containment": "in",
    "attachment": "fixed to",
    "contact": "touches",
    "near": "near",
}
_FROM_B |= {"left of": "right of", "above": "below", "in front of": "behind"}
_FROM_A = {"support": "holds", "containment": "contains", "attachment": "carries", "contact": "touches"}
_FROM_A |= {"near": "near", "left of": "left of", "above": "above", "in front of": "in front of"}


def relation_words(id: str, a: str, r: str, b: str) -> str:
    """`(tray#2, support, ice#1)` is "on tray#2" to the ice, and "holds ice#1" to the tray."""
    return f"{_FROM_B.get(r, r)} {a}" if id == b else f"{_FROM_A.get(r, r)} {b}"


def told_by(a: str, r: str, b: str) -> str:
    """Who tells of a lasting relation: what is held tells of its holder, else the first end."""
    return b if r in ("support", "containment", "attachment") else a


def key_words(key: str) -> str:
    return key.replace("_", " ")


def edit_words(edit: GraphEdit) -> str:
    """An edit as the paper writes it, with a Spawn's attributes."""
    if isinstance(edit, Spawn) and edit.attributes:
        attributes = ", ".join(f"{key_words(key)}: {value}" for key, value in edit.attributes.items())
        return f"{edit} ({attributes})"
    if isinstance(edit, Update):
        return f"Update({edit.o}, {key_words(edit.key)}, {edit.value})"
    assert isinstance(edit, (Link, Unlink, Spawn, Consume))
    return str(edit)
