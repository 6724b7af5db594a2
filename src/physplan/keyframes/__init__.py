"""Keyframes (section 3.2, A.4): every state drawn from the first frame by an image editor, and checked."""

from typing import TYPE_CHECKING

from physplan.lazy import lazy_names

if TYPE_CHECKING:
    from physplan.keyframes.check import KeyframeCheck, check_keyframe
    from physplan.keyframes.protocol import EditRequest, KeyframeEditor, NoPicture
    from physplan.keyframes.render import Keyframe, RenderOptions, judge_keyframes, render_keyframes
    from physplan.keyframes.settings import CheckSettings, RenderSettings
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "check": "KeyframeCheck check_keyframe",
            "protocol": "EditRequest KeyframeEditor NoPicture",
            "render": "Keyframe RenderOptions judge_keyframes render_keyframes",
            "settings": "CheckSettings RenderSettings",
        },
    )

__all__ = [
    "CheckSettings", "EditRequest", "Keyframe", "KeyframeCheck", "KeyframeEditor", "NoPicture",
    "RenderOptions", "RenderSettings", "check_keyframe", "judge_keyframes", "render_keyframes",
]  # fmt: skip
