"""Does the finished video show what the plan says: every edit, the bystanders, and how smoothly it moves."""

from physplan.verify.check import Perception, verify_video
from physplan.verify.limits import Limits
from physplan.verify.verdict import Verdict

__all__ = ["Limits", "Perception", "Verdict", "verify_video"]
