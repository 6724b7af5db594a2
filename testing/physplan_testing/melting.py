"""A model that knows one scene: the paper's melting ice (appendix A.7), answered in the wire format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from physplan_testing.loopback import Answer, Asked

PROMPT = "an ice cube melting in the sun"
KEYS = ("material_phase", "integrity", "surface", "color", "extent", "configuration")


def attributes(**given: str) -> dict[str, str]:
    return {key: given.get(key, "") for key in KEYS}


def node(id: str, category: str, **given: str) -> dict[str, Any]:
    return {"id": id, "category": category, "attributes": attributes(**given)}


def state(object: str, state: str, rule: str, new_id: str = "", new_source: str = "") -> dict[str, str]:
    return {"object": object, "state": state, "rule": rule, "new_id": new_id, "new_source": new_source}


def edit(op: str, **given: Any) -> dict[str, Any]:
    blank = dict.fromkeys(("o", "value", "a", "b", "id", "source", "category"), "")
    return {"op": op, **blank, "key": "none", "r": "none", "attributes": attributes(), **given}


GRAPH = {
    "nodes": [
        node("ice#1", "ice cube", material_phase="solid", integrity="intact", surface="dry", extent="small"),
        node("tray#2", "tray", material_phase="solid", surface="dry", configuration="flat"),
        node("table#4", "table", material_phase="solid", color="brown"),
    ],
    "edges": [
        {"a": "tray#2", "r": "support", "b": "ice#1"},
        {"a": "table#4", "r": "support", "b": "tray#2"},
    ],
}
MELTS = "ice above its melting point turns into water"
DELTAS = [
    {
        "states": [
            state("ice#1", "partially melted", MELTS),
            state("tray#2", "wet beneath ice#1", "liquid flows down onto its support"),
        ],
        "fraction": 0.30,
    },
    {"states": [state("ice#1", "melted into puddle#3", MELTS, "puddle#3", "ice#1")], "fraction": 0.30},
    {
        "states": [state("puddle#3", "spread over most of tray#2", "liquid spreads over a flat support")],
        "fraction": 0.25,
    },
]
EDITS = [
    [
        edit("Update", o="ice#1", key="material_phase", value="partially melted"),
        edit("Update", o="tray#2", key="surface", value="wet"),
    ],
    [
        edit(
            "Spawn",
            id="puddle#3",
            source="ice#1",
            category="puddle",
            attributes=attributes(material_phase="liquid", color="clear", extent="small"),
        ),
        edit("Consume", o="ice#1"),
        edit("Link", a="tray#2", r="support", b="puddle#3"),
    ],
    [edit("Update", o="puddle#3", key="extent", value="spread over most of the tray")],
]
KEEP = "Keep everything else in the image unchanged."
INSTRUCTIONS = [
    f"Make the ice cube partially melted and the tray wet around it. {KEEP}",
    f"Replace the ice cube with a small clear puddle that lies on the tray, and make the tray wet. {KEEP}",
    f"Replace the ice cube with a puddle that spreads over most of the tray, and make the tray wet. {KEEP}",
]
# The act that a request is for, by the first field of its schema.
ANSWERS: dict[str, Callable[[Asked], Any]] = {
    "nodes": lambda asked: GRAPH,
    "deltas": lambda asked: {"deltas": DELTAS[len(block(asked, "events_so_far") or []) :]},
    "edits": lambda asked: {"edits": EDITS[event_of(asked)]},
    "instruction": lambda asked: {"instruction": INSTRUCTIONS[keyframe_of(asked)]},
}


def respond(asked: Asked) -> Answer:
    return Answer(text=json.dumps(ANSWERS[asked.act](asked)))


def block(asked: Asked, name: str) -> Any:
    """A data block of the message, as the model would read it."""
    found = re.search(rf'<data name="{name}">\n(.*?)\n</data>', asked.text, re.DOTALL)
    return json.loads(found[1]) if found else None


def event_of(asked: Asked) -> int:
    """Which of the three events the delta in the request is."""
    changed = {entry["object"] for entry in block(asked, "delta")["states"]}
    return 0 if "tray#2" in changed else 2 if "puddle#3" in changed else 1


def keyframe_of(asked: Asked) -> int:
    edits = block(asked, "net_edits")
    if not any(entry["op"] == "Spawn" for entry in edits):
        return 0
    return 2 if any(entry["op"] == "Update" and entry["o"] == "puddle#3" for entry in edits) else 1


def draw(path: Path) -> Path:
    """The scene as a picture: a pale cube on a grey tray on a brown table."""
    image = Image.new("RGB", (192, 128), (208, 224, 240))
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 88, 191, 127), fill=(140, 92, 56))
    pen.rectangle((40, 76, 152, 88), fill=(150, 150, 156))
    pen.rectangle((80, 44, 112, 76), fill=(214, 236, 250), outline=(170, 200, 224))
    image.save(path)
    return path
