"""Keyframes and sketch of a photograph, composed of its own pixels (docs/sketch.md)."""

from physplan_photo.compose.config import ComposeConfig
from physplan_photo.compose.editor import ComposeEditor, make_photo_sketch
from physplan_photo.compose.render import Renderer

__all__ = ["ComposeConfig", "ComposeEditor", "Renderer", "make_photo_sketch"]
