"""The sketch: the plan as a crude animation, before any video model runs."""

from physplan.sketch.compose import Sketch, make_sketch

__all__ = ["Sketch", "make_sketch"]
