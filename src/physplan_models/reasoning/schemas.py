"""The flat wire schemas of the VLM's answers, and the way from an answer to the domain's own JSON.

Providers differ in which JSON schemas they take: none here uses a union, an optional field or an open map.
What does not apply is sent as an empty string ("none" for a key or a relation), and dropped here. All that
comes back is parsed and checked again by `physplan.graph`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from physplan.graph import ATTRIBUTE_KEYS, LAWS, RELATIONS

NONE = "none"
TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}
FIELDS = {
    "Update": ("o", "key", "value"),
    "Link": ("a", "r", "b"),
    "Unlink": ("a", "r", "b"),
    "Spawn": ("id", "source", "category", "attributes"),
    "Consume": ("o",),
}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


_ATTRIBUTES = _object(**dict.fromkeys(ATTRIBUTE_KEYS, TEXT))
_EDGE = _object(a=TEXT, r=_one_of(*RELATIONS), b=TEXT)

GRAPH = _object(nodes=_list(_object(id=TEXT, category=TEXT, attributes=_ATTRIBUTES)), edges=_list(_EDGE))
DELTAS = _object(
    deltas=_list(
        _object(
            states=_list(_object(object=TEXT, state=TEXT, rule=TEXT, new_id=TEXT, new_source=TEXT)),
            fraction=NUMBER,
        )
    )
)
EDITS = _object(
    edits=_list(
        _object(
            op=_one_of(*FIELDS),
            o=TEXT,
            key=_one_of(*ATTRIBUTE_KEYS, NONE),
            value=TEXT,
            a=TEXT,
            r=_one_of(*RELATIONS, NONE),
            b=TEXT,
            id=TEXT,
            source=TEXT,
            category=TEXT,
            attributes=_ATTRIBUTES,
        )
    )
)
# With how things move: only the parameters that can be seen in a picture.
MOTION = ("rise", "angle", "to")
MOVING_EDITS = _object(
    **EDITS["properties"],
    motion=_list(
        _object(
            o=TEXT,
            law=_one_of(*(name for name, law in LAWS.items() if law.offered)),
            rise=NUMBER,
            angle=NUMBER,
            to=TEXT,
        )
    ),
)
INSTRUCTION = _object(instruction=TEXT)
# The ablations' answers.
SCENES = _object(scenes=_list(_object(description=TEXT, fraction=NUMBER)))
NEXT_GRAPH = _object(
    nodes=_list(_object(id=TEXT, category=TEXT, source=TEXT, attributes=_ATTRIBUTES)), edges=_list(_EDGE)
)


def graph_json(answer: Any) -> Any:
    """An answer to GRAPH or NEXT_GRAPH as a state graph's JSON."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("nodes"), list):
        return answer
    return {**answer, "nodes": [_given(_with_attributes(node)) for node in answer["nodes"]]}


def deltas_json(answer: Any) -> Any:
    if not isinstance(answer, Mapping) or not isinstance(answer.get("deltas"), list):
        return answer
    return {**answer, "deltas": [_delta(delta) for delta in answer["deltas"]]}


def edits_json(answer: Any) -> Any:
    if not isinstance(answer, Mapping) or not isinstance(answer.get("edits"), list):
        return answer
    edits = {**answer, "edits": [_edit(edit) for edit in answer["edits"]]}
    if isinstance(answer.get("motion"), list):
        edits["motion"] = [_motion(entry) for entry in answer["motion"]]
    return edits


def _delta(delta: Any) -> Any:
    if not isinstance(delta, Mapping) or not isinstance(delta.get("states"), list):
        return delta
    return {**delta, "states": [_state(state) for state in delta["states"]]}


def _state(state: Any) -> Any:
    if not isinstance(state, Mapping):
        return state
    kept = {name: value for name, value in state.items() if name not in ("new_id", "new_source")}
    new = _given({"id": state.get("new_id"), "source": state.get("new_source")})
    return {**kept, "new_object": new} if new else kept


def _edit(edit: Any) -> Any:
    """Only the fields of its operator: the others are fillers that the flat schema asks for."""
    if not isinstance(edit, Mapping) or edit.get("op") not in FIELDS:
        return edit
    names = ("op", *FIELDS[edit["op"]])
    return _given(_with_attributes({name: edit[name] for name in names if name in edit}))


def _motion(entry: Any) -> Any:
    """Only the parameters that its law has; 0 and "" stand for the law's own value."""
    if not isinstance(entry, Mapping) or entry.get("law") not in LAWS:
        return entry
    known = LAWS[entry["law"]].parameters
    return {
        name: value
        for name, value in entry.items()
        if name not in MOTION or (name in known and value not in (None, "", 0))
    }


def _with_attributes(value: Any) -> Any:
    if not isinstance(value, Mapping) or "attributes" not in value:
        return value
    return {**value, "attributes": _given(value["attributes"])}


def _given(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    fillers = {"key": NONE, "r": NONE}
    return {name: entry for name, entry in value.items() if entry not in (None, "", fillers.get(name, ""))}
