"""Does the finished video show what the plan says: every edit, the bystanders, and how smoothly it moves."""

from typing import TYPE_CHECKING

from physplan.lazy import lazy_names

if TYPE_CHECKING:
    from physplan.verify.check import Perception, verify_video
    from physplan.verify.limits import Limits
    from physplan.verify.verdict import Checked, NotChecked, Verdict
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "check": "Perception verify_video",
            "limits": "Limits",
            "verdict": "Checked NotChecked Verdict",
        },
    )

__all__ = ["Checked", "Limits", "NotChecked", "Perception", "Verdict", "verify_video"]
