"""An edit of a verdict in plain words: "ball#2 is in crate#3" for `Link(crate#3, containment, ball#2)`."""

from __future__ import annotations

import re

from physplan.drawing.words import key_words, relation_words, told_by

_EDIT = re.compile(r"(Spawn|Consume|Update|Link|Unlink)\((.*)\)", re.DOTALL)


def edit_in_words(edit: str) -> str:
    """A verdict keeps its edits as the paper writes them; what is written otherwise stays as it is."""
    found = _EDIT.fullmatch(edit)
    if found is None:
        return edit
    operator, inside = found.groups()
    parts = inside.split(", ", 2)
    if operator == "Spawn":
        return f"{inside.partition(' <- ')[0]} appears"
    if operator == "Consume":
        return f"{inside} is gone"
    if len(parts) < 3:
        return edit
    if operator == "Update":
        return f"{parts[0]} becomes {parts[2]} ({key_words(parts[1])})"
    a, relation, b = parts
    teller = told_by(a, relation, b)
    verb = "" if relation == "contact" else "is "
    verb = f"{verb}no longer " if operator == "Unlink" else verb
    return f"{teller} {verb}{relation_words(teller, a, relation, b)}"
