"""Sketches that come with a keyframe editor: one that composes can draw every frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.registry import Registry
from physplan.sketch.compose import Sketch, make_sketch

SKETCHES = Registry("sketch", {}, group="sketches")  # by the editor's name


def sketch_by(
    editor: str, chain: EventChain, evidence: Evidence, options: Mapping[str, Any] | None = None
) -> Sketch:
    """The sketch of the editor that drew the keyframes, else one of pieces of the keyframes."""
    if editor not in SKETCHES:
        return make_sketch(chain, evidence)
    sketch: Sketch = SKETCHES.load(editor)(chain, evidence, **(options or {}))
    return sketch
