"""The sandbox's image editor: a keyframe from first frame, masks and net edits, without the simulator."""

from physplan_sandbox.editor.draw import SandboxEditor, TruthEditor, draw_keyframe
from physplan_sandbox.editor.error_levels import LEVELS, apply_errors

__all__ = ["LEVELS", "SandboxEditor", "TruthEditor", "apply_errors", "draw_keyframe"]
