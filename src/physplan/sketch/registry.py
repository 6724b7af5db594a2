"""Sketches that come with a keyframe editor: one that composes can draw every frame. Sources of layers."""

from __future__ import annotations

from typing import Any

from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.registry import Registry
from physplan.sketch.compose import Sketch, make_sketch
from physplan.sketch.whole import LayerSource

SKETCHES = Registry("sketch", {}, group="sketches")  # by the editor's name
LAYERS = Registry("source of layers", {"none": "physplan.sketch.whole:no_layers"}, group="layers")


def sketch_by(config: Any, chain: EventChain, evidence: Evidence) -> Sketch:
    """The sketch of the editor that drew the keyframes, else one of pieces of the keyframes."""
    if config.editor.name not in SKETCHES:
        return make_sketch(chain, evidence, layers_of(config))
    sketch: Sketch = SKETCHES.load(config.editor.name)(chain, evidence, **config.editor.options)
    return sketch


def layers_of(config: Any) -> LayerSource | None:
    """Loaded; None where the run has no source of layers."""
    if config.sketch.layers == "none":
        return None
    source: LayerSource = LAYERS.load(config.sketch.layers)(**config.sketch.layer_options)
    return source
