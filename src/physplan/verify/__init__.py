"""Verification of the finished video: every edit of the plan, unedited objects, smoothness of motion."""

from typing import TYPE_CHECKING

from physplan.lazy import lazy_names

if TYPE_CHECKING:
    from physplan.verify.check import verify_video
    from physplan.verify.limits import Limits
    from physplan.verify.perceiving import Perception
    from physplan.verify.verdict import Checked, NotChecked, Verdict
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "check": "verify_video",
            "perceiving": "Perception",
            "limits": "Limits",
            "verdict": "Checked NotChecked Verdict",
        },
    )

__all__ = ["Checked", "Limits", "NotChecked", "Perception", "Verdict", "verify_video"]
