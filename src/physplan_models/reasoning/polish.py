"""The words for a video model rewritten by a language model that sees the first frame; nothing is added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from physplan.calls.named import connect_named
from physplan.calls.protocol import Request
from physplan.pipeline.run import Run
from physplan.reasoning.picture import Picture

MOST_LETTERS = 1_000
SYSTEM = (
    "You write for an image-to-video model that is given this picture as its first frame. Rewrite the text as"
    " one paragraph of at most 80 words in the present tense: what moves, how, in which order, up to the last"
    " state. Keep every event and its order. Add no object, event, camera movement or style."
)
ANSWER: Mapping[str, Any] = {
    "type": "object",
    "properties": {"words": {"type": "string"}},
    "required": ["words"],
    "additionalProperties": False,
}


def polish(run: Run, told: str) -> str:
    """`told` rewritten by the model; unchanged where the answer cannot be used."""
    wanted = run.config.runtime
    gateway, model = connect_named(
        run.config.video.polish or "", run.calls, what="writer", consent=wanted.allow_hosts, **wanted.paying
    )
    request = Request(
        purpose="words",
        model=model,
        system=SYSTEM,
        text=f"The text:\n{told}",
        images=(Picture(run.frame).part,),
        schema=ANSWER,
        max_output_tokens=1024,
    )
    return usable(gateway.ask(request).reply.text) or told


def usable(answer: str) -> str:
    """The words of an answer on one line; nothing where it has none, or more than a video model reads."""
    try:
        words = json.loads(answer)["words"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    if not isinstance(words, str):
        return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= MOST_LETTERS else ""
