"""The sketch: a crude animation of the plan, made without a video model."""

from physplan.sketch.compose import Sketch, make_sketch

__all__ = ["Sketch", "make_sketch"]
