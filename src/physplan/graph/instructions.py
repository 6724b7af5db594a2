"""Who wrote a keyframe instruction, and the net edits and words it is bound to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from physplan.graph.edits import GraphEdit

USER = "user"  # a person's own words: kept whatever the edits become
RULES = "rules"  # written from the net edits, because the reasoner's words broke the rules
DRAFT = "draft"  # written from the net edits without asking a reasoner
UNKNOWN = "reasoner"  # a plan from before authors were stored

Change = Literal["edits", "words", "unbound"]


@dataclass(frozen=True, slots=True)
class Written:
    """The author of an instruction and its binding: two digests, of the net edits and of the words."""

    by: str
    binding: str = ""  # "": bound to nothing, as in a plan file without `instruction_for`

    @classmethod
    def to(cls, net_edits: Sequence[GraphEdit], text: str, by: str) -> Written:
        return cls(by, binding(net_edits, text))

    def change(self, net_edits: Sequence[GraphEdit], text: str) -> Change | None:
        """What differs from what the instruction was written for; None when nothing does."""
        if not self.binding:
            return "unbound"
        edits, _, words = self.binding.partition(".")
        now_edits, _, now_words = binding(net_edits, text).partition(".")
        if edits != now_edits:
            return "edits"
        return "words" if words != now_words else None


def binding(net_edits: Sequence[GraphEdit], text: str) -> str:
    """`<digest of the net edits>.<digest of the text>`; the order of the edits means nothing."""
    edits = sorted(json.dumps(edit.to_json(), sort_keys=True, ensure_ascii=False) for edit in net_edits)
    return f"{_digest(json.dumps(edits))[:16]}.{_digest(text)[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
