"""The world's image editor: a keyframe from the first frame, its masks and the net edits, no simulator."""

from physplan.sandbox.editor.draw import SandboxEditor, TruthEditor, draw_keyframe
from physplan.sandbox.editor.errors import LEVELS, err

__all__ = ["LEVELS", "SandboxEditor", "TruthEditor", "draw_keyframe", "err"]
