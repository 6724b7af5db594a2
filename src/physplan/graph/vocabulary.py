"""The fixed vocabulary of a state graph: attribute keys, relations, and conventions (tables A1, A2, A3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True)
class AttributeKey:
    name: str
    describes: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """`kind`: does it carry effects between objects, or only fix the layout; `measure`: how it is guided."""

    name: str
    kind: Literal["physical", "spatial"]
    measure: Literal["planar", "depth"]
    symmetric: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Convention:
    """How a situation without a relation of its own name is written: the relations, and how they run."""

    situation: str
    relations: tuple[str, ...]
    note: str


_ATTRIBUTES = (
    AttributeKey(
        "material_phase", "phase of the material", ("solid", "softened", "partially melted", "liquid", "gas")
    ),
    AttributeKey(
        "integrity", "damage that leaves it one object", ("intact", "cracked", "dented", "torn", "crushed")
    ),
    AttributeKey(
        "surface", "condition of the outer layer", ("dry", "wet", "frosted", "fogged", "rusted", "charred")
    ),
    AttributeKey("color", "hue, when only the hue changes", ("green", "brown", "red")),
    AttributeKey("extent", "size", ("small", "large", "spread over most of the tray")),
    AttributeKey(
        "configuration", "pose or shape", ("upright", "tipped over", "open", "closed", "bent", "crumpled")
    ),
)
ATTRIBUTES: Mapping[str, AttributeKey] = MappingProxyType({key.name: key for key in _ATTRIBUTES})
ATTRIBUTE_KEYS: tuple[str, ...] = tuple(ATTRIBUTES)

_RELATIONS = (
    Relation("support", "physical", "planar", False, "a holds b up against gravity"),
    Relation("contact", "physical", "planar", True, "a and b touch"),
    Relation("containment", "physical", "depth", False, "b is inside a"),
    Relation("attachment", "physical", "planar", False, "b is fixed to a"),
    Relation("left of", "spatial", "planar", False, "a is left of b in the image"),
    Relation("above", "spatial", "planar", False, "a is above b in the image"),
    Relation("in front of", "spatial", "depth", False, "a is nearer to the camera than b"),
    Relation("near", "spatial", "planar", True, "a is close to b and does not touch it"),
)
RELATIONS: Mapping[str, Relation] = MappingProxyType({relation.name: relation for relation in _RELATIONS})

# Relations whose edges must form a directed acyclic graph.
ACYCLIC: tuple[str, ...] = ("support", "containment")

# Directions that are never recorded: the same layout is written with the ends swapped.
INVERSES: Mapping[str, str] = MappingProxyType(
    {"right of": "left of", "below": "above", "behind": "in front of"}
)

CONVENTIONS: tuple[Convention, ...] = (
    Convention("an object floats on a liquid", ("support",), "the liquid supports the object"),
    Convention("an object is submerged in a liquid", ("containment",), "the liquid contains the object"),
    Convention(
        "an object leans against another", ("support", "contact"), "the other supports and touches it"
    ),
    Convention("an object hangs from another", ("attachment",), "the object is attached to the other"),
    Convention("a part of an object", ("attachment",), "the part is attached to the whole"),
    Convention(
        "a layer covers an object", ("support",), "the object supports the layer, and its surface changes"
    ),
    Convention(
        "right of, below, behind",
        ("left of", "above", "in front of"),
        "swap the ends: b is right of a is written (a, left of, b)",
    ),
)

# The paper writes "material phase" in text and "material_phase" in JSON: both spellings are read.
_SPELLINGS: dict[str, str] = {
    spelling: name
    for name in (*ATTRIBUTE_KEYS, *RELATIONS)
    for spelling in (name.replace(" ", "_"), name.replace("_", " "))
    if spelling != name
}


def canonical(name: str) -> str:
    """The one spelling of an attribute key or relation; unknown names come back as they are."""
    return _SPELLINGS.get(name, name)


def suggest(name: str, known: Iterable[str]) -> str:
    """A short list of what could have been meant, for error messages."""
    import difflib

    options = list(known)
    if close := difflib.get_close_matches(name, options, n=1, cutoff=0.5):
        return f"did you mean {close[0]!r}?"
    more = f" and {len(options) - 20} more" if len(options) > 20 else ""
    return f"use one of: {', '.join(options[:20])}{more}"
