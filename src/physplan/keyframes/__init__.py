"""Keyframes (section 3.2, A.4): every state drawn from the first frame by an image editor, and checked."""

from physplan.keyframes.check import CheckSettings, KeyframeCheck, check_keyframe
from physplan.keyframes.protocol import EditRequest, KeyframeEditor, NoPicture
from physplan.keyframes.render import Keyframe, RenderSettings, judge_keyframes, render_keyframes

__all__ = [
    "CheckSettings",
    "EditRequest",
    "Keyframe",
    "KeyframeCheck",
    "KeyframeEditor",
    "NoPicture",
    "RenderSettings",
    "check_keyframe",
    "judge_keyframes",
    "render_keyframes",
]
